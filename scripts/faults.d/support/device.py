"""A device that writes, remembers what was acknowledged, and holds the server to it."""

import json
import threading

from support.client import Client, Gone
from support.fault import Broken, expect

ABSENT = object()


class Device:
    """Writes keys of one suite, each a write of its own or a batch of two that have to agree.

    - A write that was acknowledged is there from then on.
    - One that was answered with an error didn't happen, as long as the server runs that said so. Once it has died,
      `forget_certainty` says that it may have: nobody can tell it from one whose answer was lost.
    - One that wasn't answered happened or not.
    """

    def __init__(self, name, token, seed, size=40):
        self.name = name
        self.token = token
        self.random = __import__("random").Random(seed)
        self.size = size
        self.client = None
        self.count = 0
        self.acknowledged = 0
        self.refused = 0
        # What a key may be: the first is what was acknowledged last, others what may have happened since.
        self.values = {}
        # What was refused since, and can be found only after the server has died.
        self.unkept = {}

    def connect(self, port, timeout=30):
        self.client = Client(port, timeout)
        self.client.token = self.token

    def write(self):
        """Writes once. Returns the answer; raises Gone where none comes."""
        self.count += 1
        value = [self.count, "x" * self.random.randrange(self.size)]
        key = f"{self.name}-{self.random.randrange(8)}"
        kind = self.random.randrange(6)
        if kind == 0 and self.known(key) is not ABSENT:
            changes, request = {key: ABSENT}, ("DELETE", f"/v1/defaults/standard/{key}", None)
        elif kind <= 2:
            # Two keys that always change together: half of it would be seen.
            changes = {f"{self.name}-left": value, f"{self.name}-right": value}
            actions = [
                {"module": "defaults", "type": "set", "payload": {"key": each, "value": value}} for each in changes
            ]
            request = ("POST", "/v1/actions", {"actions": actions})
        else:
            changes, request = {key: value}, ("PUT", f"/v1/defaults/standard/{key}", value)
        fields = {"Idempotency-Key": f"{self.name} {self.count}"} if self.random.randrange(2) else {}
        try:
            answer = self.client.send(*request, fields)
        except Gone:
            for each, new in changes.items():
                self.possible(each).append(new)
            raise
        if answer.status in (200, 201, 204):
            self.acknowledged += 1
            for each, new in changes.items():
                self.values[each] = [new]
                self.unkept.pop(each, None)
        else:
            self.refused += 1
            expect(answer.is_problem, lambda: f"an error that is no problem document: {answer}")
            for each, new in changes.items():
                self.unkept.setdefault(each, []).append(new)
        return answer

    def known(self, key):
        return self.values.get(key, [ABSENT])[0]

    def possible(self, key):
        return self.values.setdefault(key, [ABSENT])

    def forget_certainty(self):
        """The server has died."""
        for key, values in self.unkept.items():
            self.possible(key).extend(values)
        self.unkept = {}

    def check(self):
        """Expects all that was acknowledged to be there, and nothing but what may have happened since."""
        answer = self.client.get("/v1/defaults/standard")
        expect(answer.status == 200, lambda: f"{self.name} can't read: {answer}")
        found = {key: value for key, value in answer.json["values"].items() if key.startswith(self.name + "-")}
        for key in set(self.values) | set(found) | set(self.unkept):
            value, allowed = found.get(key, ABSENT), self.values.get(key, [ABSENT])
            if value not in allowed:
                raise Broken(f"{key} is {shown(value)}, and not {' or '.join(shown(each) for each in allowed)}")
            # What is there now stays: what else may have happened didn't.
            self.values[key] = [value]
        left, right = found.get(f"{self.name}-left"), found.get(f"{self.name}-right")
        expect(left == right, lambda: f"half of a batch is seen: {shown(left)} and {shown(right)}")
        self.unkept = {}

    def check_rebuilt(self):
        """Expects what the journal rebuilds to be what the tables have."""
        now = self.client.get("/v1/defaults/standard")
        then = self.client.get(f"/v1/defaults/standard?at={now.fields['cursor']}")
        expect(then.status == 200 and then.body == now.body, lambda: f"the journal rebuilds another state: {then}")


def shown(value):
    return "absent" if value is ABSENT else json.dumps(value)[:60]


class Devices:
    """Several of them, of several users, that write at once."""

    def __init__(self, fault, server, users=2, each=2, size=40):
        self.all = []
        for user in range(users):
            client = server.client()
            answer = client.sign_up(f"user{user}")
            expect(answer.status == 201, lambda: f"nobody can sign up: {answer}")
            for number in range(each):
                self.all.append(Device(f"d{user}{number}", client.token, fault.random.random(), size))
            client.close()

    @property
    def acknowledged(self):
        return sum(device.acknowledged for device in self.all)

    @property
    def refused(self):
        return sum(device.refused for device in self.all)

    def connect(self, server):
        for device in self.all:
            device.connect(server.port)

    def forget_certainty(self):
        for device in self.all:
            device.forget_certainty()

    def check(self):
        for device in self.all:
            device.check()
        self.all[0].check_rebuilt()

    def write(self, until, allowed=(503, 507)):
        """All write until `until()` holds, or their connection breaks. Answers that are neither success nor allowed are
        failures."""
        faults = []

        def go(device):
            try:
                while not until():
                    answer = device.write()
                    if answer.status >= 400 and answer.status not in allowed:
                        faults.append(str(answer))
                        return
            except Gone:
                pass
            except Exception as error:  # pylint: disable=broad-except
                faults.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=go, args=(device,)) for device in self.all]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(not faults, lambda: f"an answer that it shouldn't give: {faults[0]}")
