"""A proxy between two parts of a fleet, which can stop forwarding."""

import contextlib
import os
import selectors
import socket
import struct
import threading


class Proxy:
    """Forwards each connection from `source` to `target`. Both are a port on this machine, or the path of a Unix
    socket. A source of 0 chooses a port.

    - `hang`: nothing arrives any more, but all connections stay open, as when a cable is pulled.
    - `swallow`: requests arrive, responses do not. A connection that has lost a response
      stays silent after `repair`.
    - `cut`: all connections break, and new ones are refused.
    """

    def __init__(self, fault, source, target):
        self.source, self.target = source, target
        self.selector = selectors.DefaultSelector()
        self.lock = threading.Lock()
        self.listener = None
        self.mode = "forward"
        # Whether notifications of PostgreSQL are taken out.
        self.drops_notifications = False
        # The first digits of the version that PostgreSQL gets, as bytes as long as the true ones.
        self.version = None
        self.pairs = []
        self.is_ended = False
        self.log = os.devnull
        self.wake, self.waker = socket.socketpair()
        self.selector.register(self.wake, selectors.EVENT_READ, None)
        self.listen()
        fault.servers.append(self)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def listen(self):
        if isinstance(self.source, str):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.source)
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.source)
        else:
            self.listener = socket.socket()
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.listener.bind(("127.0.0.1", self.source))
            self.source = self.listener.getsockname()[1]
        self.listener.listen(128)

    @property
    def port(self):
        return self.source

    # How it fails

    def hang(self):
        self.change("hang")

    def swallow(self):
        self.change("swallow")

    def cut(self):
        self.change("cut")

    def repair(self):
        self.change("forward")

    def change(self, mode):
        with self.lock:
            self.mode = mode
            if mode == "cut":
                for pair in list(self.pairs):
                    self.close(pair)
        self.waker.send(b"x")

    def drop_notifications(self, drops=True):
        self.drops_notifications = drops

    def kill(self):
        """Ends the proxy."""
        self.is_ended = True
        self.waker.send(b"x")
        self.thread.join(5)

    # Forwarding

    def run(self):
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        listens = True
        while not self.is_ended:
            for key, _ in self.selector.select(1):
                if key.data is None:
                    self.wake.recv(4096)
            with self.lock:
                if self.is_ended:
                    break
                wants = self.mode != "hang"
                if wants != listens:
                    listens = wants
                    for pair in self.pairs:
                        self.watch(pair, wants)
                    if wants:
                        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
                    else:
                        self.selector.unregister(self.listener)
                if wants:
                    self.accept()
                    for pair in list(self.pairs):
                        self.forward(pair)
        for pair in list(self.pairs):
            self.close(pair)
        self.listener.close()

    def watch(self, pair, wants):
        for each in (pair.client, pair.server):
            if wants:
                self.selector.register(each, selectors.EVENT_READ, pair)
            else:
                self.selector.unregister(each)
        pair.is_watched = wants

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except BlockingIOError:
                return
            if self.mode == "cut":
                client.close()
                continue
            try:
                server = socket.socket(socket.AF_UNIX if isinstance(self.target, str) else socket.AF_INET)
                server.connect(self.target if isinstance(self.target, str) else ("127.0.0.1", self.target))
            except OSError:
                server.close()
                client.close()
                continue
            pair = Pair(client, server)
            self.pairs.append(pair)
            self.watch(pair, True)

    def forward(self, pair):
        try:
            for source, sink, is_response in ((pair.client, pair.server, False), (pair.server, pair.client, True)):
                while (received := self.receive(source)) is not None:
                    if not received:
                        return self.close(pair)
                    if is_response and self.mode == "swallow":
                        pair.has_lost = True
                    # TCP never delivers anything after a gap.
                    if is_response and pair.has_lost:
                        continue
                    if is_response and isinstance(self.source, str):
                        received = pair.filter(received, self.drops_notifications, self.version)
                    sink.setblocking(True)
                    sink.settimeout(5)
                    sink.sendall(received)
        except OSError:
            self.close(pair)
        return None

    @staticmethod
    def receive(source):
        source.setblocking(False)
        try:
            return source.recv(1 << 16)
        except BlockingIOError:
            return None

    def close(self, pair):
        self.pairs.remove(pair)
        if pair.is_watched:
            self.watch(pair, False)
        pair.client.close()
        pair.server.close()


class Pair:
    """Two connections that belong together."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.is_watched = False
        # Whether a part of a response was lost.
        self.has_lost = False
        self.input = b""

    def filter(self, received, drops, version):
        """Passes whole messages of PostgreSQL's protocol on, without notifications if `drops`, and with another
        version of the server if there is one."""
        self.input += received
        output = b""
        while len(self.input) >= 5:
            length = 1 + struct.unpack_from("!i", self.input, 1)[0]
            if len(self.input) < length:
                break
            message = self.input[:length]
            name = b"server_version\0"
            if version and message[:1] == b"S" and message[5:].startswith(name):
                start = 5 + len(name)
                message = message[:start] + version + message[start + len(version):]
            if not (drops and message[:1] == b"A"):
                output += message
            self.input = self.input[length:]
        return output
