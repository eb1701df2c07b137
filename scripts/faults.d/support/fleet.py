"""Several nodes on one store in PostgreSQL."""

import threading
import time

from support.fault import Broken, eventually, expect
from support.server import Server

# The lease of a node in seconds.
LEASE = 2


class Fleet:
    """`connections` has the connection string of each node, or is one string for `count` nodes. `variables` are
    added to the environment of all nodes, or of each one if it is a list."""

    ADMINISTRATOR = "the-administrator-of-the-fleet"

    def __init__(self, fault, connections, count=3, options=(), variables=None):
        self.fault = fault
        self.connections = [connections] * count if isinstance(connections, str) else connections
        self.options = options
        self.variables = variables if isinstance(variables, list) else [variables or {}] * len(self.connections)
        self.lock = threading.Lock()
        self.nodes = [self.begin(index) for index in range(len(self.connections))]
        # The port of each node; None while clients must not use it.
        self.ports = [node.listening().port for node in self.nodes]

    def begin(self, index):
        variables = {"LOCKSTEP_ADMIN_TOKEN": self.ADMINISTRATOR, **self.variables[index]}
        return Server(self.fault, self.connections[index], *self.options, name=f"node{index}", variables=variables)

    @property
    def live(self):
        """The ports of the nodes that clients may use."""
        return [port for port in self.ports if port]

    def pick(self, random):
        """A random port; None if no node can be used."""
        ports = self.live
        return random.choice(ports) if ports else None

    def kill(self, index):
        self.ports[index] = None
        self.nodes[index].kill()

    def stop(self, index):
        """Drains a node. Clients go on to use it until it has ended."""
        self.nodes[index].stop()
        self.ports[index] = None

    def restart(self, index, seconds=60):
        """Starts a node. While PostgreSQL starts again, a node may give up."""
        while True:
            node = self.begin(index)
            eventually(node.has_started, "a node neither listens nor ends", seconds)
            if not node.has_ended:
                break
        # Only the present process of each node is observed from now on.
        self.fault.servers.remove(self.nodes[index])
        self.nodes[index] = node
        self.ports[index] = node.listening().port

    def client(self, index, token=None, timeout=30):
        client = self.nodes[index].client(timeout)
        client.token = token
        return client

    def administrator(self, index, timeout=30):
        return self.client(index, self.ADMINISTRATOR, timeout)

    def wait_until_ready(self, seconds=30):
        """Waits until each node can write."""
        for index, node in enumerate(self.nodes):
            if not self.ports[index]:
                continue
            node.expect_alive()
            client = self.client(index)
            eventually(lambda: client.get("/readyz").status == 200, f"node {index} is not ready", seconds)
            client.close()

    def expect_alive(self):
        for index, node in enumerate(self.nodes):
            if self.ports[index]:
                node.expect_alive()

    def stop_all(self):
        for index, node in enumerate(self.nodes):
            self.ports[index] = None
            node.stop()

    def metric(self, index, name):
        try:
            return self.nodes[index].metric(name)
        except AttributeError:
            raise Broken(f"/metrics has no {name}") from None


def refused(answer):
    """Expects a problem that tells the client to try again, and returns it."""
    expect(answer.is_problem and "retry-after" in answer.fields, lambda: f"no problem with Retry-After: {answer}")
    return answer


class EndedSession:
    """A session of a new user, which all nodes know before one of them ends it."""

    def __init__(self, fleet, name):
        self.fleet = fleet
        self.owner = fleet.client(0)
        expect(self.owner.sign_up(name).status == 201, "a sign-up fails")
        self.client = fleet.client(0)
        answer = self.client.log_in(name)
        expect(answer.status == 201, "a login fails")
        self.id, self.token = answer.json["session"]["id"], answer.json["token"]
        for index in range(len(fleet.nodes)):
            expect(self.statuses(index) == [200, 200], "a new session is not accepted")

    def statuses(self, index):
        client = self.fleet.client(index, self.token, timeout=30)
        statuses = [client.get("/v1/me").status, client.get("/v1/defaults/standard").status]
        client.close()
        return statuses

    def end(self, index):
        """Ends the session at a node. Returns how long the response took: at most until the lease of a node is over
        that cannot be asked."""
        client = self.fleet.client(index, self.owner.token)
        start = time.monotonic()
        answer = client.send("DELETE", f"/v1/sessions/{self.id}")
        taken = time.monotonic() - start
        expect(answer.status == 204, lambda: f"the end of a session gets {answer}")
        expect(taken < LEASE + 2, lambda: f"the response to the end of a session takes {taken:.1f} s")
        return taken

    def expect_dead(self, index):
        for status in self.statuses(index):
            expect(status in (401, 503), lambda: f"node {index} accepts an ended session: {status}")
