"""Tests of linearizability.py. Run them with: python3 -m unittest discover -s scripts/lib"""

import random
import unittest

from linearizability import (
    MAYBE_SWAPPED,
    MAYBE_WRITE,
    READ,
    REFUSED,
    SWAPPED,
    WRITE,
    Operation,
    check,
    plant_stale_read,
)


def operation(kind, call, response, expected=None, value=None, key="k"):
    return Operation(kind, key, call, response, expected, value)


def read(call, response, value, key="k"):
    return operation(READ, call, response, value=value, key=key)


def swapped(call, response, expected, value, key="k"):
    return operation(SWAPPED, call, response, expected, value, key)


class Register:
    """A register that is correct: simulates clients whose operations happen at one moment between
    their call and their response."""

    def __init__(self, seed, clients=12, keys=20, lost=0.02):
        self.random = random.Random(seed)
        self.clients = [0.0] * clients
        self.states = {f"k{index}": 0 for index in range(keys)}
        self.initial = dict(self.states)
        self.lost = lost
        self.count = 0

    def history(self, count):
        # The moments in order, each with the client's call before it and the response after it.
        operations, waiting = [], []
        moment = 0.0
        for _ in range(count):
            moment += self.random.expovariate(1.0)
            client = self.random.randrange(len(self.clients))
            call = max(self.clients[client], moment - self.random.expovariate(0.3))
            if call > moment:
                continue
            response = moment + self.random.expovariate(0.3)
            self.clients[client] = response
            operations.append(self.operation(call, moment, response, waiting))
        return operations

    def operation(self, call, moment, response, waiting):
        key = self.random.choice(list(self.states))
        state = self.states[key]
        if self.random.random() < 0.5:
            return read(call, response, state, key)
        self.count += 1
        expected = state if self.random.random() < 0.7 else self.random.randrange(-9, 0)
        if self.random.random() < self.lost:
            # The response is lost. The write may happen, or not.
            if expected == state and self.random.random() < 0.5:
                self.states[key] = self.count
            return operation(MAYBE_SWAPPED, call, None, expected, self.count, key)
        if expected != state:
            return operation(REFUSED, call, response, expected, self.count, key)
        self.states[key] = self.count
        return swapped(call, response, state, self.count, key)


class CheckTests(unittest.TestCase):
    def accepts(self, *operations, initial=None):
        violation = check(operations, {"k": initial})
        self.assertIsNone(violation, str(violation))

    def rejects(self, *operations, initial=None):
        violation = check(operations, {"k": initial})
        self.assertIsNotNone(violation)
        self.assertIn("k", str(violation))
        return violation

    def test_an_empty_history_and_operations_in_order_are_linearizable(self):
        self.accepts()
        self.accepts(read(0, 1, None), swapped(2, 3, None, 1), read(4, 5, 1), swapped(6, 7, 1, 2), read(8, 9, 2))

    def test_concurrent_operations_may_happen_in_any_order(self):
        self.accepts(swapped(0, 10, None, 1), read(1, 2, None), read(3, 4, 1))
        self.accepts(swapped(0, 10, None, 1), swapped(0, 10, 1, 2), swapped(0, 10, 2, 3), read(5, 6, 2))
        self.accepts(operation(WRITE, 0, 10, value=1), operation(WRITE, 0, 10, value=2), read(2, 3, 2), read(11, 12, 1))

    def test_operations_at_the_same_time_are_concurrent(self):
        self.accepts(swapped(0, 5, None, 1), read(5, 6, None))

    def test_finds_a_stale_read(self):
        violation = self.rejects(swapped(0, 1, None, 1), swapped(2, 3, 1, 2), read(4, 5, 1))
        self.assertEqual(violation.blocked, read(4, 5, 1))

    def test_finds_two_reads_in_the_wrong_order(self):
        self.rejects(swapped(0, 10, None, 1), read(1, 2, 1), read(3, 4, None))

    def test_finds_a_lost_update(self):
        self.rejects(swapped(0, 1, None, 1), swapped(2, 3, None, 2))
        self.rejects(swapped(0, 9, None, 1), swapped(0, 9, None, 2))

    def test_finds_an_acknowledged_write_that_is_lost(self):
        self.rejects(swapped(0, 1, None, 1), read(2, 3, None))
        self.rejects(swapped(0, 1, None, 1), swapped(2, 3, 1, 2), swapped(4, 5, 1, 3))

    def test_finds_a_value_that_was_never_written(self):
        self.rejects(read(0, 1, 7))

    def test_finds_a_condition_that_was_refused_although_it_held(self):
        self.rejects(operation(REFUSED, 0, 1, None, 5))
        self.accepts(operation(REFUSED, 0, 9, None, 5), swapped(1, 2, None, 1))
        self.accepts(operation(REFUSED, 0, 1, 4, 5))

    def test_an_unknown_write_may_have_happened_or_not_or_later(self):
        maybe = operation(MAYBE_SWAPPED, 0, None, None, 1)
        self.accepts(maybe, read(5, 6, None))
        self.accepts(maybe, read(5, 6, 1))
        self.accepts(maybe, read(1, 2, None), read(3, 4, 1), swapped(5, 6, 1, 2), read(7, 8, 2))
        self.accepts(operation(MAYBE_WRITE, 0, None, value=1), read(1, 2, None), read(3, 4, 1))

    def test_an_unknown_write_happens_at_most_once_and_not_before_its_call(self):
        maybe = operation(MAYBE_SWAPPED, 0, None, None, 1)
        self.rejects(maybe, read(1, 2, 1), read(3, 4, None))
        self.rejects(maybe, read(1, 2, 1), swapped(3, 4, 1, 2), read(5, 6, 1))
        self.rejects(operation(MAYBE_WRITE, 0, None, value=1), read(1, 2, 1), swapped(3, 4, 1, 2), read(5, 6, 1))
        self.rejects(read(0, 1, 1), operation(MAYBE_SWAPPED, 2, None, None, 1))
        self.rejects(swapped(0, 1, None, 2), operation(MAYBE_SWAPPED, 2, None, None, 1), read(3, 4, 1))

    def test_keys_are_independent_and_the_violation_names_its_key(self):
        good = [swapped(0, 1, None, 1, "a"), read(2, 3, 1, "a")]
        self.assertIsNone(check(good + [read(2, 3, None, "b")]))
        violation = check(good + [read(2, 3, 1, "b")])
        self.assertEqual(violation.key, "b")

    def test_accepts_random_histories_of_a_correct_register_and_rejects_them_with_one_stale_read(self):
        for seed in range(40):
            register = Register(seed, clients=6, keys=3, lost=0.05)
            history = register.history(200)
            violation = check(history, register.initial)
            self.assertIsNone(violation, f"seed {seed}: {violation}")
            planted = plant_stale_read(history, random.Random(seed))
            if planted:
                self.assertIsNotNone(check(planted, register.initial), f"seed {seed}")

    def test_checks_100000_operations_and_finds_one_stale_read_among_them(self):
        register = Register(1, clients=24, keys=50, lost=0.01)
        history = register.history(120_000)
        self.assertGreater(len(history), 100_000)
        self.assertIsNone(check(history, register.initial))
        self.assertIsNotNone(check(plant_stale_read(history, random.Random(1)), register.initial))


if __name__ == "__main__":
    unittest.main()
