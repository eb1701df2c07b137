"""Followers of the journal of all users: one that polls, and one that reads a stream of events."""

import json
import time

from support.client import Gone
from support.fault import Broken, eventually, expect
from support.fleet import refused

PATH = "/v1/admin/journal?limit=1000"


def read_all(client, cursor=None):
    """Reads pages from a cursor to the end. Returns the entries, the cursor of the end, and whether the first page is a
    reset."""
    entries, is_reset = [], None
    while True:
        answer = client.get(PATH + (f"&since={cursor}" if cursor else ""))
        expect(answer.status == 200, lambda: f"the journal of all users gets {answer}")
        page = answer.json
        if is_reset is None:
            is_reset = page["reset"]
        else:
            expect(not page["reset"], "the journal of all users starts over between two pages")
        entries += page["entries"]
        if page["cursor"] == cursor:
            return entries, cursor, is_reset
        cursor = page["cursor"]


class Stream:
    """A stream of events. `entries` has the entries so far."""

    def __init__(self, client, cursor=None):
        self.client, self.cursor = client, cursor
        self.entries = []
        self.resets = 0
        self.has_ended = True
        self.events = b""

    def connect(self):
        """Connects as a browser does, with the id of the last event. Returns whether the node accepts."""
        self.events = b""
        fields = {"Accept": "text/event-stream", **({"Last-Event-ID": self.cursor} if self.cursor else {})}
        try:
            self.client.close()
            self.client.send_request("GET", "/v1/admin/journal", None, fields)
            head, _, self.client.input = self.client.until(b"\r\n\r\n")
        except (Gone, OSError):
            return False
        self.has_ended = not head.startswith(b"HTTP/1.1 200")
        return not self.has_ended

    def read(self, seconds):
        """Reads what arrives until nothing arrives for this time, or the stream ends."""
        self.client.socket.settimeout(seconds)
        try:
            while not self.has_ended:
                self.take_chunks()
                if not self.has_ended:
                    self.client.more()
        except TimeoutError:
            return
        except OSError:
            self.has_ended = True

    def take_chunks(self):
        while b"\r\n" in self.client.input:
            size, _, rest = self.client.input.partition(b"\r\n")
            count = int(size, 16)
            if len(rest) < count + 2:
                return
            self.events += rest[:count]
            self.client.input = rest[count + 2 :]
            if not count:
                self.has_ended = True
                return
            *events, self.events = self.events.split(b"\n\n")
            for event in events:
                self.take(event.decode())

    def take(self, event):
        fields = dict(line.split(": ", 1) for line in event.splitlines() if ": " in line and not line.startswith(":"))
        if fields.get("event") == "reset":
            self.resets += 1
            self.entries = []
        if fields.get("event") == "entry":
            self.entries.append(json.loads(fields["data"]))
        self.cursor = fields.get("id", self.cursor)


class LostJournal:
    """Followers of the journal of all users that have read entries which will be lost."""

    def __init__(self, fleet):
        self.fleet = fleet
        client = fleet.administrator(0)
        self.entries, self.cursor, _ = read_all(client)
        client.close()
        # One stream and one parked poll at each node.
        self.streams = [Stream(fleet.administrator(index)) for index in range(len(fleet.nodes))]
        for stream in self.streams:
            expect(stream.connect(), "the journal of all users has no stream")
            eventually(lambda s=stream: self.has_read(s), "a stream does not have all entries", 30)
            stream.resets = 0
        self.parked = [fleet.administrator(index) for index in range(len(fleet.nodes))]
        for client in self.parked:
            client.send_request("GET", f"{PATH}&wait=50&since={self.cursor}")

    def has_read(self, stream):
        stream.read(0.2)
        return len(stream.entries) >= len(self.entries)

    def expect_reset(self, index, seconds):
        """Expects a node to recognise the lost cursor within so many seconds, and the entries then to be those that a
        new follower gets."""
        client = self.fleet.administrator(index)
        end = time.monotonic() + seconds
        while True:
            answer = client.get(f"{PATH}&since={self.cursor}")
            if answer.status == 200 and answer.json["reset"]:
                break
            if answer.status == 200:
                expect(not answer.json["entries"], f"the journal of all users continues at the lost cursor {self.cursor}")
            else:
                refused(answer)
            expect(time.monotonic() < end, lambda: f"the journal of all users at a lost cursor gets {answer}")
            time.sleep(0.05)
        first = answer.json["entries"]
        rest, _, is_reset = read_all(client, answer.json["cursor"])
        expect(not is_reset, "the journal of all users starts over after a reset")
        expect(first + rest == read_all(client)[0], "after a reset, the journal of all users differs from a first read")
        client.close()

    def expect_ended(self, seconds):
        """Expects each stream to end, and each parked poll to get nothing of the new history without a reset. Call
        this when the new history has grown."""
        for index, stream in enumerate(self.streams):
            end = time.monotonic() + seconds
            while not stream.has_ended:
                stream.read(0.2)
                expect(time.monotonic() < end, f"the stream of node {index} continues a lost history")
            expect(stream.resets == 0 and stream.entries == self.entries,
                   f"the stream of node {index} has entries of the new history without a reset")
        for index, client in enumerate(self.parked):
            client.socket.settimeout(seconds)
            try:
                answer = client.response()
            except Gone as error:
                raise Broken(f"a poll that waits at node {index} for the journal of all users gets nothing: {error}") from None
            if answer.status == 200:
                expect(answer.json["reset"], "a poll that waits for the journal of all users continues a lost history")
            else:
                refused(answer)
            client.close()

    def expect_streams_equal(self):
        """Expects each stream to begin with a reset when it reconnects, and to get what a new follower reads. Nothing
        is written meanwhile."""
        for index, stream in enumerate(self.streams):
            stream.client.close()
            stream.client = self.fleet.administrator((index + 1) % len(self.streams))
            eventually(stream.connect, "a stream is not accepted", 10)
            whole = read_all(self.fleet.administrator(index))[0]

            def is_equal(stream=stream, whole=whole):
                stream.read(0.2)
                return stream.resets == 1 and stream.entries == whole

            eventually(is_equal, lambda s=stream, w=whole: f"after a lost history, a stream has {s.resets} resets and "
                       f"{len(s.entries)} entries, but a new follower reads {len(w)}", 30)
            stream.client.close()
