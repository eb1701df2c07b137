"""Checks whether a history of reads and conditional writes is linearizable.

A history is linearizable if each operation can have happened at one moment between its call and its
response, so that each read returns the last value written before it. The check is the search of Wing
and Gong with the memory of Lowe: it remembers which sets of operations lead to which value, and tries
none of them twice. Each key is a register of its own, so keys are checked one by one.

As a program, it reads a file with one operation as a JSON array on each line, [kind, key, call,
response, expected, value], and exits with 1 if the history is not linearizable:

    python3 linearizability.py HISTORY
"""

import json
import sys
from typing import Any, NamedTuple, Optional

# A read that returned `value`.
READ = "read"
# A write of `value`, without a condition, that was acknowledged.
WRITE = "write"
# A write of `value`, on the condition that the register has `expected`: acknowledged, or refused
# because the condition did not hold.
SWAPPED = "swapped"
REFUSED = "refused"
# A write with or without a condition, of which the client got no response. It may have happened at any
# moment after its call, or not.
MAYBE_WRITE = "maybe-write"
MAYBE_SWAPPED = "maybe-swapped"

UNKNOWN = (MAYBE_WRITE, MAYBE_SWAPPED)


class Operation(NamedTuple):
    kind: str
    key: Any
    call: float
    response: float
    expected: Any = None
    value: Any = None

    def apply(self, state):
        """Returns whether the operation can happen in this state, and the state after it."""
        if self.kind == READ:
            return state == self.value, state
        if self.kind in (WRITE, MAYBE_WRITE):
            return True, self.value
        if self.kind == REFUSED:
            return state != self.expected, state
        # If the condition of an unknown write does not hold, the write need not be tried: without
        # an effect, it is the same as one that did not happen.
        return state == self.expected, self.value

    def __str__(self):
        text = {
            READ: f"read {self.value!r}",
            WRITE: f"wrote {self.value!r}",
            SWAPPED: f"replaced {self.expected!r} by {self.value!r}",
            REFUSED: f"was refused to replace {self.expected!r}",
            MAYBE_WRITE: f"may have written {self.value!r}",
            MAYBE_SWAPPED: f"may have replaced {self.expected!r} by {self.value!r}",
        }[self.kind]
        end = "" if self.kind in UNKNOWN else f" to {self.response}"
        return f"{text} (from {self.call}{end})"


class Violation(NamedTuple):
    """A key whose operations have no order."""

    key: Any
    # The longest order that was found, and an operation that must come next and cannot.
    order: list
    blocked: Operation

    def __str__(self):
        last = "\n".join(f"  {operation}" for operation in self.order[-6:])
        return (
            f"{self.key}: after {len(self.order)} operations in order, the next one cannot happen.\n"
            f"The last ones:\n{last}\nThe next one:\n  {self.blocked}"
        )


class _Event:
    """The call or the response of an operation, in a list that is linked in both directions."""

    __slots__ = ("index", "operation", "response", "previous", "next")

    def __init__(self, index, operation, response):
        self.index = index
        self.operation = operation
        # The event of the response; None if this event is the response itself.
        self.response = response
        self.previous = None
        self.next = None

    def remove(self):
        self.previous.next = self.next
        if self.next:
            self.next.previous = self.previous

    def restore(self):
        self.previous.next = self
        if self.next:
            self.next.previous = self


def _events(operations):
    """Links the events of the operations in the order of time. Returns the list's head."""
    timed = []
    for index, operation in enumerate(operations):
        # An unknown write has no response: it may happen as late as it likes.
        response = None if operation.kind in UNKNOWN else _Event(index, operation, None)
        call = _Event(index, operation, response)
        # If a call and a response have the same time, the operations count as concurrent.
        timed.append((operation.call, 0, index, call))
        if response:
            timed.append((operation.response, 1, index, response))
    timed.sort(key=lambda entry: entry[:3])
    head = last = _Event(-1, None, None)
    for *_, event in timed:
        last.next, event.previous, last = event, last, event
    return head


def check_register(operations, initial=None) -> Optional[Violation]:
    """Checks the operations of one key. Returns None if they are linearizable."""
    operations = sorted(operations, key=lambda operation: operation.call)
    head = _events(operations)
    rest = sum(operation.kind not in UNKNOWN for operation in operations)
    state, done = initial, 0
    seen = set()
    stack = []
    longest, blocked = [], None
    event = head.next
    # An operation that is left has a response in the list. So a response follows each event below.
    while rest:
        if event.response is not None or event.operation.kind in UNKNOWN:
            # A call: the operation may be the next one.
            possible, after = event.operation.apply(state)
            next_done = done | 1 << event.index
            if not possible or (next_done, after) in seen:
                event = event.next
                continue
            seen.add((next_done, after))
            stack.append((event, state, done))
            state, done = after, next_done
            event.remove()
            if event.response is not None:
                event.response.remove()
                rest -= 1
            event = head.next
            continue
        # A response: its operation must have happened before, so an earlier choice was wrong.
        if len(stack) > len(longest) or blocked is None:
            longest, blocked = [entry[0].operation for entry in stack], event.operation
        if not stack:
            return Violation(operations[0].key, longest, blocked)
        event, state, done = stack.pop()
        if event.response is not None:
            event.response.restore()
            rest += 1
        event.restore()
        event = event.next
    return None


def check(history, initial=None) -> Optional[Violation]:
    """Checks a history of any number of keys. `initial` has the first value of each key; others
    begin with None. Returns the first violation."""
    by_key = {}
    for operation in history:
        by_key.setdefault(operation.key, []).append(operation)
    for key, operations in by_key.items():
        violation = check_register(operations, (initial or {}).get(key))
        if violation:
            return violation
    return None


def plant_stale_read(history, source):
    """Returns the history with a read that returns a value which was replaced before the read's call;
    None if no read can be changed."""
    reads = [index for index, each in enumerate(history) if each.kind == READ]
    source.shuffle(reads)
    for index in reads:
        target = history[index]
        stale = [
            each.expected
            for each in history
            if each.kind == SWAPPED and each.key == target.key and each.response < target.call
        ]
        if stale:
            changed = list(history)
            changed[index] = target._replace(value=source.choice(stale))
            return changed
    return None


def read_history(path):
    with open(path) as file:
        for line in file:
            yield Operation(*json.loads(line))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: linearizability.py HISTORY")
    found = check(read_history(sys.argv[1]))
    if found:
        print(found)
        sys.exit(1)
    print("The history is linearizable.")
