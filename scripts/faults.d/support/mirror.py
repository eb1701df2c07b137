"""Devices that write through any node of a fleet, and followers that mirror them.

Each write adds 1 to the value `count` of its user, so that in each state `count` equals the revision. A lost
write, a write that happened twice, a state in part and a changeset that is left out all break this rule."""

import contextlib
import random
import socket
import threading
import time

from support.client import Client, Gone
from support.copy import Copy
from support.fault import Broken, eventually, expect
from support.fleet import refused

# For how many seconds a request that fails is sent again. Then the test fails.
PATIENCE = 90


class Worker(threading.Thread):
    """A thread that uses one node after the other."""

    def __init__(self, load, user, name):
        super().__init__(name=name, daemon=True)
        self.load, self.user = load, user
        self.random = random.Random(f"{load.seed} {name}")
        self.client = None
        # Set while the worker does nothing, because the load is paused.
        self.is_idle = False

    def run(self):
        try:
            while not self.load.ended.is_set():
                if self.must_pause():
                    self.is_idle = True
                    time.sleep(0.005)
                    continue
                self.is_idle = False
                self.step()
        except Exception as error:  # pylint: disable=broad-except
            if not self.load.ended.is_set():
                self.load.failures.append(f"{self.name}: {error if isinstance(error, Broken) else repr(error)}")
        finally:
            self.is_idle = True
            self.leave()

    def must_pause(self):
        return False

    def step(self):
        raise NotImplementedError

    def leave(self):
        if self.client:
            self.client.close()
        self.client = None

    @property
    def port(self):
        """The port of the node that it uses; None between two nodes."""
        client = self.client
        return client.port if client else None

    def connect(self):
        """Uses the present node, or a random one. Returns whether there is one."""
        if self.client and self.client.port in self.load.fleet.live:
            return True
        self.leave()
        port = self.load.fleet.pick(self.random)
        if port is None:
            time.sleep(0.01)
            return False
        self.client = Client(port, timeout=30)
        self.client.token = self.user.token
        return True


class Writer(Worker):
    """Writes one transaction after the other. If there is no response, or 503, it sends the write again with the
    same key, usually to another node. So each write happens exactly once, and the writer knows what it has set."""

    def __init__(self, load, user, number):
        super().__init__(load, user, f"writer-{user.number}-{number}")
        self.count = 0
        # The values that this writer has set, by the key, and the titles of its favorites.
        self.values = {}
        self.titles = {}
        self.slowest = 0

    def must_pause(self):
        return self.load.is_paused

    def step(self):
        self.count += 1
        actions, values, titles = self.transaction()
        start = time.monotonic()
        answer = self.send(actions, f"{self.name} {self.count}")
        self.slowest = max(self.slowest, time.monotonic() - start)
        self.values, self.titles = values, titles
        self.user.note(int(answer.fields["revision"]), answer.fields["cursor"])
        time.sleep(self.random.uniform(0, self.load.pause_between))
        if self.random.random() < 0.2:
            self.leave()

    def transaction(self):
        """Actions, and what this writer has set after them."""
        values, titles = dict(self.values), dict(self.titles)
        actions = [action("defaults", "increment", key="count", by=1)]
        for _ in range(self.random.randrange(1, 5)):
            key = f"{self.name}/{self.random.randrange(6)}"
            place = {"index": self.random.randrange(12)}
            title = f"t{self.random.randrange(1000)}"
            choice = self.random.random()
            if choice < 0.3:
                values[key] = [self.count, title]
                actions.append(action("defaults", "set", key=key, value=values[key]))
            elif choice < 0.4 and key in values:
                del values[key]
                actions.append(action("defaults", "remove", key=key))
            elif key not in titles:
                titles[key] = title
                actions.append(action("favorites", "add", id=key, title=title, **place))
            elif choice < 0.6:
                titles[key] = title
                actions.append(action("favorites", "update", id=key, title=title))
            elif choice < 0.8:
                actions.append(action("favorites", "move", id=key, **place))
            else:
                del titles[key]
                actions.append(action("favorites", "remove", id=key))
        return actions, values, titles

    def send(self, actions, key):
        """Sends a write until it succeeds."""
        end = time.monotonic() + PATIENCE
        attempts, last = 0, "there is no node"
        while True:
            expect(not self.load.ended.is_set(), "the load has ended")
            expect(time.monotonic() < end, lambda: f"a write does not succeed within {PATIENCE} s: {last}")
            if not self.connect():
                continue
            attempts += 1
            try:
                answer = self.client.send("POST", "/v1/actions", {"actions": actions}, {"Idempotency-Key": key})
            except Gone as error:
                last = error
                self.load.count("unanswered")
                self.leave()
                continue
            last = answer
            if answer.status == 200:
                self.load.count("acknowledged")
                if attempts > 1:
                    self.load.count("retried")
                if "idempotency-replayed" in answer.fields:
                    self.load.count("replayed")
                return answer
            # 409: the same write still runs on another node.
            expect(answer.status in (409, 503, *self.load.allowed), lambda: f"a write gets {answer}")
            if answer.status != 409:
                refused(answer)
            self.load.count("refused")
            self.leave()
            time.sleep(self.random.uniform(0.01, 0.1))

    def adopt(self, copy):
        """Takes over what is left of this writer's data after a history was lost."""
        prefix = self.name + "/"
        self.values = {key: value for key, value in copy.values().items() if key.startswith(prefix)}
        self.titles = {item["id"]: item["title"] for item in copy.items() if item["id"].startswith(prefix)}


class Follower(Worker):
    """Mirrors a user through GET /v1/changes. At random it polls, waits, changes the node and continues from an
    old cursor. It checks its copy after each step."""

    def __init__(self, load, user, number):
        super().__init__(load, user, f"follower-{user.number}-{number}")
        self.lock = threading.Lock()
        self.copy = Copy()
        self.cursor = None
        self.revision = 0
        self.past = []
        self.resets = 0
        self.changesets = 0
        # An offline follower asks for nothing.
        self.is_offline = False
        # A follower that may only use this node; None for any.
        self.only = None
        # Pairs of cursors between which a response led, and whether it was a reset.
        self.transitions = []
        # Tests set this to see that the checks find a changeset that is left out.
        self.skips = False

    def must_pause(self):
        return self.is_offline

    def go_offline(self):
        """Breaks the connection, also in the middle of a wait, as a device does that loses its network."""
        self.is_offline = True
        client = self.client
        if client and client.socket:
            with contextlib.suppress(OSError):
                client.socket.shutdown(socket.SHUT_RDWR)

    def step(self):
        if self.random.random() < 0.1:
            self.leave()
        if self.past and self.random.random() < 0.05:
            with self.lock:
                self.cursor, self.revision, self.copy = self.random.choice(self.past)
        if not self.connect():
            return
        wait = self.random.choice([0, 5, 20, 20, 20])
        query = f"?wait={wait}" + (f"&since={self.cursor}" if self.cursor else "")
        try:
            answer = self.client.get("/v1/changes" + query)
        except Gone:
            self.load.count("disconnections")
            self.leave()
            time.sleep(0.01)
            return
        if answer.status == 503:
            refused(answer)
            self.load.count("reads refused")
            self.leave()
            time.sleep(self.random.uniform(0.02, 0.1))
            return
        expect(answer.status == 200, lambda: f"it gets {answer}")
        self.take(answer.json)

    def take(self, document):
        since, cursor, revision = document["since"], document["cursor"], document["revision"]
        expect(since == self.cursor, lambda: f"a document for {since} and not for {self.cursor}")
        copy = self.copy.duplicate()
        if document["reset"]:
            copy.reset(document["changesets"])
            if since:
                self.resets += 1
                expect(self.load.may_lose_history, lambda: f"an unnecessary reset since {since} at {cursor}")
        else:
            if self.skips and len(document["changesets"]) == 1:
                self.skips = False
                document["changesets"] = []
            try:
                copy.apply(document["changesets"])
            except Broken as error:
                raise Broken(f"from {since} to {cursor}: {error}") from error
            self.changesets += len(document["changesets"])
            # An older state after a newer one would be a step back in time.
            expect(revision >= self.revision, lambda: f"the feed leads back from {since} to {cursor}")
        if since:
            self.transitions.append((since, cursor, document["reset"]))
        count = copy.value("count") or 0
        expect(count == revision, lambda: f"at {cursor} the copy counts {count} transactions, from {since}")
        with self.lock:
            self.copy, self.cursor, self.revision = copy, cursor, revision
        if self.random.random() < 0.2:
            if len(self.past) >= 6:
                del self.past[self.random.randrange(6)]
            self.past.append((cursor, revision, copy))

    @property
    def point(self):
        """The cursor, the revision and the copy, which belong together."""
        with self.lock:
            return self.cursor, self.revision, self.copy


class MirroredUser:
    def __init__(self, number, token, id_):
        self.number, self.token, self.id = number, token, id_
        self.lock = threading.Lock()
        # The revisions of acknowledged writes, with the cursors.
        self.acknowledged = {}

    def note(self, revision, cursor):
        with self.lock:
            expect(revision not in self.acknowledged, lambda: f"two writes have the revision {revision}")
            self.acknowledged[revision] = cursor

    @property
    def revision(self):
        """The highest revision that was acknowledged."""
        with self.lock:
            return max(self.acknowledged, default=0)


class Load:
    """Writers and followers of some users."""

    def __init__(self, fault, fleet, users=3, writers=2, followers=2, allowed=(), pause_between=0.02):
        self.fault, self.fleet = fault, fleet
        self.seed = fault.random.randrange(1 << 30)
        # The statuses that a write may get besides 409 and 503.
        self.allowed = allowed
        self.pause_between = pause_between
        self.ended = threading.Event()
        self.is_paused = False
        # Whether acknowledged writes may be lost, so that followers may have to start over.
        self.may_lose_history = False
        self.failures = []
        self.lock = threading.Lock()
        self.counts = {}
        self.users = []
        for number in range(users):
            client = fleet.client(number % len(fleet.nodes))
            answer = client.sign_up(f"mirrored{number}")
            expect(answer.status == 201, lambda: f"a sign-up gets {answer}")
            self.users.append(MirroredUser(number, client.token, answer.json["user"]["id"]))
            client.close()
        self.writers = [Writer(self, user, number) for user in self.users for number in range(writers)]
        self.followers = [Follower(self, user, number) for user in self.users for number in range(followers)]

    def start(self):
        for worker in self.writers + self.followers:
            worker.start()
        return self

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def __getitem__(self, what):
        return self.counts.get(what, 0)

    def check(self):
        """Raises the first failure of a worker."""
        expect(not self.failures, lambda: self.failures[0])

    def run(self, seconds):
        """Lets the workers work."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, 0.05))

    def run_until(self, holds, what, seconds=60):
        def asked():
            self.check()
            return holds()

        eventually(asked, what, seconds)

    def expect_progress(self, writes=10, seconds=60, without=None):
        """Expects writes to succeed, and each follower that is not offline to get all of them. `without` is the port of
        a node whose followers may wait there."""
        goal = self["acknowledged"] + writes
        self.run_until(lambda: self["acknowledged"] >= goal, "writes do not succeed", seconds)
        self.expect_followed(seconds, without)

    def expect_followed(self, seconds=60, without=None):
        """Expects each follower to reach what is acknowledged now. A follower may go back to an old cursor, but then
        it comes forward again."""
        goals = {user: user.revision for user in self.users}
        left = [follower for follower in self.followers if not follower.is_offline]

        def arrived():
            left[:] = [each for each in left if each.point[1] < goals[each.user]]
            return all(each.port == without for each in left) if without else not left

        self.run_until(arrived, lambda: f"{left[0].name} is left behind, at {left[0].cursor}", seconds)

    def pause(self, seconds=PATIENCE + 30):
        """Stops the writers. Then each write has its response."""
        self.is_paused = True
        self.run_until(lambda: all(writer.is_idle for writer in self.writers), "a write does not end", seconds)

    def resume(self):
        self.is_paused = False

    def whole(self, client):
        """The state as a new client gets it, with its cursor and revision. While PostgreSQL was gone, a node may
        need a moment."""
        end = time.monotonic() + 30
        while (answer := client.get("/v1/changes")).status == 503 and time.monotonic() < end:
            time.sleep(0.05)
        expect(answer.status == 200 and answer.json["reset"], lambda: f"a first read gets {answer}")
        copy = Copy()
        copy.reset(answer.json["changesets"])
        return copy, answer.json["cursor"], answer.json["revision"]

    def settle(self):
        """Pauses the writers, and expects all nodes to agree, all acknowledged writes to be there once, and all
        followers to have exactly this state."""
        self.pause()
        self.expect_followed()
        for user in self.users:
            states = []
            for index, port in enumerate(self.fleet.ports):
                if not port:
                    continue
                client = self.fleet.client(index, user.token)
                # A node may be some milliseconds behind the others.
                client_copy = self.present(client, user)
                self.expect_equal_resources(client, client_copy)
                states.append(client_copy)
                client.close()
            expect(all(state == states[0] for state in states), "two nodes have different states")
            self.expect_written(user, states[0])
            for follower in self.followers:
                if follower.user is user and not follower.is_offline:
                    self.run_until(
                        lambda f=follower: f.point[2] == states[0],
                        lambda f=follower: f"the copy of {f.name} at {f.cursor} is {f.copy}, but the state is {states[0]}",
                        40,
                    )

    def present(self, client, user):
        copies = []

        def is_present():
            copy, _, revision = self.whole(client)
            copies[:] = [copy]
            return revision >= user.revision

        eventually(is_present, "a node does not have an acknowledged write", 10)
        return copies[0]

    @staticmethod
    def expect_equal_resources(client, copy):
        """The resources themselves must equal what the feed says."""
        values = client.get("/v1/defaults/standard").json["values"]
        expect(values == copy.values(), "the defaults differ from the feed")
        items = client.get("/v1/favorites").json["items"]
        expect(items == copy.items(), "the favorites differ from the feed")

    def expect_written(self, user, copy):
        """Expects each write to be there exactly once."""
        writers = [writer for writer in self.writers if writer.user is user]
        values = {key: value for writer in writers for key, value in writer.values.items()}
        titles = {key: title for writer in writers for key, title in writer.titles.items()}
        found = {key: value for key, value in copy.values().items() if key != "count"}
        expect(found == values, lambda: f"the values are {found}, but {values} was acknowledged")
        found = {item["id"]: item["title"] for item in copy.items()}
        expect(found == titles, lambda: f"the favorites are {found}, but {titles} was acknowledged")
        if not self.may_lose_history:
            count = len(user.acknowledged)
            expect(copy.value("count", "standard") == count, lambda: f"{copy.value('count')} writes, {count} acknowledged")
            expect(user.revision == count, lambda: f"{count} writes have the revisions up to {user.revision}")

    def end(self):
        """Ends all workers. Call this at the end of a fault, also after a failure."""
        self.ended.set()
        # A follower may wait at a node for up to 20 s. The threads end with the process.
        for worker in self.writers:
            worker.join(5)

    @property
    def slowest(self):
        return max(writer.slowest for writer in self.writers)

    @property
    def summary(self):
        changesets = sum(follower.changesets for follower in self.followers)
        return (
            f"{self['acknowledged']} writes acknowledged, all present once ({self['unanswered']} without a response, "
            f"{self['refused']} refused, {self['retried']} succeeded when sent again, {self['replayed']} of them replayed); "
            f"{len(self.followers)} followers applied {changesets} changesets and equal the state"
        )


def action(module, type_, **payload):
    return {"module": module, "type": type_, "payload": payload}
