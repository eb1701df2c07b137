"""Clients that use accounts, sessions, conditional writes and screens of a fleet whose nodes change."""

import random
import time

from support.client import Client, Gone
from support.fault import expect
from support.fleet import refused
from support.mirror import PATIENCE, Worker

PASSWORD = "correct horse"


class Visit:
    """The life of one account. It uses two nodes in turn, `first` and `second`, which are ports. If one of them has
    ended, another node takes its place."""

    def __init__(self, load, name, first, second):
        self.load, self.fleet, self.name = load, load.fleet, name
        self.first, self.second = first, second
        self.random = random.Random(name)
        self.sent = 0

    def send(self, port, token, method, path, body=None, fields=None, is_screen=False):
        """Sends a request until it has a response that is neither 503 nor 409 for a request that still runs.
        Returns the response, and the port of the node that it came from."""
        self.sent += 1
        fields = dict(fields or {})
        if method != "GET":
            fields["Idempotency-Key"] = f"{self.name} {self.sent}"
        end = time.monotonic() + PATIENCE
        last = "there is no node"
        while True:
            expect(not self.load.ended.is_set(), "the load has ended")
            expect(time.monotonic() < end, lambda: f"{method} {path} does not succeed within {PATIENCE} s: {last}")
            if port not in self.fleet.live:
                port = self.fleet.pick(self.random)
            client = Client(port, timeout=30)
            client.token = token
            try:
                answer = client.send(method, path, body, fields)
            except Gone as error:
                last = error
                self.load.count("visits: unanswered")
                # A node that ends accepts no connection.
                port = self.fleet.pick(self.random)
                continue
            finally:
                client.close()
            last = answer
            is_running = answer.status == 409 and "retry-after" in answer.fields
            if answer.status != 503 and not is_running:
                self.load.count("visits: requests")
                return answer, port
            refused(answer)
            self.load.count("visits: refused")
            time.sleep(self.random.uniform(0.01, 0.1))

    def ask(self, statuses, *request, **fields):
        answer, _ = self.send(*request, **fields)
        expect(
            answer.status in statuses,
            lambda: f"{self.name}: {request[2]} {request[3]} of {self.which(request[0])} gets {answer}",
        )
        return answer

    def which(self, port):
        return self.fleet.names.get(port, port)

    def run(self):
        account = {"email": f"{self.name}@example.com", "password": PASSWORD}
        answer = self.ask([201], self.first, None, "POST", "/v1/users", account)
        owner = answer.json["token"]
        # A session that was made on one node works on the others.
        answer = self.ask([201], self.second, None, "POST", "/v1/sessions", account)
        session, token = answer.json["session"]["id"], answer.json["token"]
        for port in (self.first, self.second):
            for each in (owner, token):
                answer = self.ask([200], port, each, "GET", "/v1/me")
                expect(answer.json["email"] == account["email"], lambda: f"/v1/me gives {answer}")
        # Passwords take most of a visit's time, so these steps are repeated.
        for number in range(2):
            self.write_on_conditions(number, owner, token)
            self.use_screen(owner)
        self.ask([204], self.first, owner, "DELETE", f"/v1/sessions/{session}")
        self.expect_dead(token)
        answer = self.ask([201], self.first, None, "POST", "/v1/sessions", account)
        token = answer.json["token"]
        change = {"current": PASSWORD, "new": PASSWORD + "s"}
        self.ask([204], self.second, owner, "PUT", "/v1/me/password", change)
        self.expect_dead(token)
        self.ask([401], self.first, None, "POST", "/v1/sessions", account)
        self.ask([204], self.first, owner, "DELETE", "/v1/me", {"password": change["new"]})
        self.expect_dead(owner)
        self.load.count("visits")

    def write_on_conditions(self, number, owner, token):
        """Conditional writes are decided on the latest state, no matter which node decides."""
        strict = {"Prefer": "consistency=strict"}
        path = "/v1/defaults/standard"
        writer, other = (self.first, self.second) if number % 2 else (self.second, self.first)
        tag = self.ask([200], other, token, "GET", path, None, strict).fields["etag"]
        answer = self.ask([200], writer, owner, "PATCH", path, {"number": number}, {"If-Match": tag})
        # At once, when this node may not have heard of the write.
        self.ask([412], other, token, "PATCH", path, {"number": -1}, {"If-Match": tag})
        # A cursor makes a read as new as the write.
        seen = self.ask([200], other, token, "GET", path, None, {"Cursor": answer.fields["cursor"]})
        expect(seen.json["values"] == {"number": number}, lambda: f"after a write, {path} is {seen}")
        self.ask([201], writer, token, "PUT", f"/v1/favorites/{number}", {"title": self.name})
        seen = self.ask([200], other, owner, "GET", "/v1/favorites", None, strict)
        expect(len(seen.json["items"]) == number + 1, lambda: f"after a write, the favorites are {seen}")

    def use_screen(self, owner):
        """A screen that was opened on one node can be used through another one."""
        for opener, other in ((self.first, self.second), (self.second, self.first)):
            answer, host = self.send(opener, owner, "POST", "/v1/reactors/workingHistory")
            expect(answer.status == 201, lambda: f"{self.name}: a screen on {self.which(opener)} gets {answer}")
            path = answer.json["href"]
            step = {"type": "setCompanyName", "payload": {"value": self.name}}
            for port, method, place, body in (
                (other, "POST", path + "/actions", step), (host, "GET", path, None), (other, "GET", path, None),
                (other, "DELETE", path, None),
            ):
                answer, _ = self.send(port, owner, method, place, body)
                if answer.status == 404 and host in self.fleet.asked_to_end:
                    # The screens of a node end with it.
                    self.load.count("visits: screens ended")
                    break
                expect(
                    answer.status in (200, 204),
                    lambda: f"{self.name}: {method} of a screen on {self.which(host)} "
                    f"through {self.which(port)} gets {answer}",
                )
                if method == "GET":
                    expect(answer.json["state"]["companyName"] == self.name, lambda: f"a screen is {answer}")

    def expect_dead(self, token):
        """No node accepts a token whose session has ended."""
        for port in self.fleet.live:
            client = Client(port, timeout=30)
            client.token = token
            try:
                answer = client.get("/v1/me")
            except Gone:
                continue
            finally:
                client.close()
            expect(
                answer.status in (401, 503),
                lambda p=port: f"{self.name}: {self.which(p)} accepts a token whose session has ended: {answer}",
            )


class Visitor(Worker):
    """Makes one visit after the other, each at two random nodes."""

    def __init__(self, load, number):
        super().__init__(load, None, f"visitor-{number}")
        self.count = 0

    def must_pause(self):
        return self.load.is_paused

    def step(self):
        self.count += 1
        ports = self.load.fleet.live
        first, second = self.random.sample(ports, 2) if len(ports) > 1 else ports * 2
        Visit(self.load, f"{self.name}-{self.count}", first, second).run()
        time.sleep(0.02)
