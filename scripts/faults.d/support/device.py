"""A device that writes, records which writes were acknowledged, and checks them."""

import json
import threading

from support.client import Client, Gone
from support.fault import Broken, expect

ABSENT = object()


class Device:
    """Writes keys of one suite, alone or in batches of two keys that must agree.

    - An acknowledged write must be there from then on.
    - A write that got an error did not happen as long as the same server runs. After a crash it may have happened:
      see `forget_certainty`.
    - A write without a response may have happened or not.
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
        # The possible values of each key. The first was acknowledged last; writes without a
        # response may have set the others.
        self.values = {}
        # Values that were refused since then. They may appear only after a crash.
        self.unkept = {}

    def connect(self, port, timeout=120):
        self.client = Client(port, timeout)
        self.client.token = self.token

    def write(self):
        """Writes once. Returns the response; raises Gone if there is none."""
        self.count += 1
        value = [self.count, "x" * self.random.randrange(self.size)]
        key = f"{self.name}-{self.random.randrange(8)}"
        kind = self.random.randrange(6)
        if kind == 0 and self.known(key) is not ABSENT:
            changes, request = {key: ABSENT}, ("DELETE", f"/v1/defaults/standard/{key}", None)
        elif kind <= 2:
            # These two keys always change together, so that half of a batch would be visible.
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
            expect(answer.is_problem, lambda: f"an error without a problem document: {answer}")
            for each, new in changes.items():
                self.unkept.setdefault(each, []).append(new)
        return answer

    def known(self, key):
        return self.values.get(key, [ABSENT])[0]

    def possible(self, key):
        return self.values.setdefault(key, [ABSENT])

    def forget_certainty(self):
        """Call this after the server has crashed: refused writes may have happened."""
        for key, values in self.unkept.items():
            self.possible(key).extend(values)
        self.unkept = {}

    def check(self):
        """Expects each key to have a possible value, so that every acknowledged write is there."""
        answer = self.client.get("/v1/defaults/standard")
        expect(answer.status == 200, lambda: f"{self.name} cannot read: {answer}")
        found = {key: value for key, value in answer.json["values"].items() if key.startswith(self.name + "-")}
        for key in set(self.values) | set(found) | set(self.unkept):
            value, allowed = found.get(key, ABSENT), self.values.get(key, [ABSENT])
            if value not in allowed:
                raise Broken(f"{key} is {shown(value)}, expected {' or '.join(shown(each) for each in allowed)}")
            # The current value stays, and the other possible ones did not happen.
            self.values[key] = [value]
        left, right = found.get(f"{self.name}-left"), found.get(f"{self.name}-right")
        expect(left == right, lambda: f"half of a batch is visible: {shown(left)} and {shown(right)}")
        self.unkept = {}

    def check_rebuilt(self):
        """Expects the journal to rebuild what the tables hold."""
        now = self.client.get("/v1/defaults/standard")
        then = self.client.get(f"/v1/defaults/standard?at={now.fields['cursor']}")
        expect(then.status == 200 and then.body == now.body, lambda: f"the journal rebuilds a different state: {then}")


def shown(value):
    return "absent" if value is ABSENT else json.dumps(value)[:60]


class Devices:
    """Several devices of several users that write at the same time."""

    def __init__(self, fault, server, users=2, each=2, size=40):
        self.all = []
        for user in range(users):
            client = server.client()
            answer = client.sign_up(f"user{user}")
            expect(answer.status == 201, lambda: f"a sign-up gets {answer}")
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
        """All devices write until `until()` holds or their connection breaks. Any error whose
        status is not allowed is a failure."""
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
        expect(not faults, lambda: f"an unexpected response: {faults[0]}")
