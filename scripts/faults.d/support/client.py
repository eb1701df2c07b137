"""A minimal HTTP/1.1 client that keeps one connection open."""

import json
import socket


class Gone(Exception):
    """The connection broke before the response was complete. The server may have carried the
    request out or not."""


class Answer:
    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields
        self.body = body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def is_problem(self):
        """Whether this is a valid problem document (RFC 9457)."""
        return self.fields.get("content-type") == "application/problem+json" and self.json.get("status") == self.status

    def __str__(self):
        return f"{self.status} {self.text[:300]}"


class Client:
    def __init__(self, port, timeout=120):
        self.port = port
        self.timeout = timeout
        self.token = None
        self.socket = None
        self.input = b""

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def send(self, method, path, body=None, fields=None):
        """Sends a request on the open connection or a new one. Returns the response; raises Gone if
        there is none."""
        self.send_request(method, path, body, fields)
        return self.response(method, path)

    def send_request(self, method, path, body=None, fields=None):
        """Sends a request, whose response the caller reads with `response`."""
        lines = [f"{method} {path} HTTP/1.1", "Host: h"]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        lines += [f"{name}: {value}" for name, value in (fields or {}).items()]
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if body is not None:
            lines.append(f"Content-Length: {len(content)}")
        try:
            if not self.socket:
                self.input = b""
                self.socket = socket.create_connection(("127.0.0.1", self.port), self.timeout)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
        except OSError as error:
            self.close()
            raise Gone(f"{method} {path}: {error or type(error).__name__}") from error

    def response(self, method="GET", path=""):
        """The response to the request that was sent last. Raises Gone if there is none."""
        try:
            return self.answer(method)
        except OSError as error:
            self.close()
            raise Gone(f"{method} {path}: {error or type(error).__name__}") from error

    def send_half(self):
        """Disconnects in the middle of a request."""
        try:
            if self.socket:
                self.socket.sendall(b"PUT /v1/profile HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{")
        except OSError:
            pass
        self.close()

    def get(self, path, fields=None):
        return self.send("GET", path, None, fields)

    def answer(self, method):
        head, _, self.input = self.until(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        status = int(first.split(" ", 2)[1])
        if method == "HEAD" or status in (204, 304):
            body = b""
        elif fields.get("transfer-encoding") == "chunked":
            body = b""
            while True:
                size, _, self.input = self.until(b"\r\n")
                chunk = self.exactly(int(size, 16))
                self.exactly(2)
                if not chunk:
                    break
                body += chunk
        else:
            body = self.exactly(int(fields.get("content-length", "0")))
        if fields.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, fields, body)

    def until(self, mark):
        while mark not in self.input:
            self.more()
        return self.input.partition(mark)

    def exactly(self, count):
        while len(self.input) < count:
            self.more()
        bytes_, self.input = self.input[:count], self.input[count:]
        return bytes_

    def more(self):
        received = self.socket.recv(1 << 16)
        if not received:
            raise ConnectionError("closed in the middle of a response")
        self.input += received

    # Accounts

    def sign_up(self, name):
        """Signs up, and uses the new account's token from now on."""
        answer = self.send("POST", "/v1/users", {"email": f"{name}@example.com", "password": "correct horse"})
        if answer.status == 201:
            self.token = answer.json["token"]
        return answer

    def log_in(self, name):
        answer = self.send("POST", "/v1/sessions", {"email": f"{name}@example.com", "password": "correct horse"})
        if answer.status == 201:
            self.token = answer.json["token"]
        return answer
