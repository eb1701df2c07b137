"""For tests in a browser: a Lockstep server and Chromium, both new for each test."""

import asyncio
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request

from playwright.async_api import async_playwright, expect

PASSWORD = "correct horse"

# How long a test waits for anything, in seconds. Only a test that fails waits that long.
PATIENCE = 60
expect.set_options(timeout=PATIENCE * 1_000)


class Server:
    """The server in LOCKSTEP_BINARY, with a store of its own. It keeps its port when it starts again."""

    # Sent by requests that name no other token.
    token = None

    def __init__(self, *options, **variables):
        self.folder = tempfile.mkdtemp(prefix="lockstep-web-")
        self.data = os.path.join(self.folder, "lockstep.db")
        self.options = options
        self.variables = variables
        self.url = "http://127.0.0.1:0"
        self.start()

    def start(self):
        """Starts the process, on the same port as before. Another process may have the port for a while."""
        for _ in range(1 if self.url.endswith(":0") else 240):
            if self.try_to_start():
                return
            time.sleep(0.25)
        raise RuntimeError("the server does not start")

    def try_to_start(self):
        self.process = subprocess.Popen(
            [os.environ["LOCKSTEP_BINARY"], "serve", "--port", self.url.rsplit(":", 1)[1], "--data", self.data]
            + ["--log-level", "error", "--threads", "1", *self.options],
            stdout=subprocess.PIPE, text=True, env={**os.environ, **self.variables},
        )
        found = re.search(r"http://\S+", self.process.stdout.readline())
        if found:
            self.url = found[0]
        else:
            self.end()
        return found

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()

    def remove(self):
        self.end()
        shutil.rmtree(self.folder)

    def send(self, path, method="GET", body=None, token=None):
        """Returns the JSON or the text of the response. Without a token in `token`, sends that of the server."""
        token = self.token if token is None else token
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"Bearer {token}"} if token else {}, method=method,
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            text = response.read()
        return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()

    def sign_up(self, email="ada@example.com", device="phone"):
        """Returns the id and the token of a new user."""
        made = self.send("/v1/users", "POST", {"email": email, "password": PASSWORD, "device": device}, token="")
        return made["user"]["id"], made["token"]

    def log_in(self, email="ada@example.com", device="phone"):
        """Returns the token of a new session."""
        return self.send("/v1/sessions", "POST", {"email": email, "password": PASSWORD, "device": device}, token="")["token"]


def limit(seconds):
    """Ends the test after this time."""

    def wrap(body):
        @functools.wraps(body)
        async def limited(self):
            async with asyncio.timeout(seconds):
                await body(self)

        limited.has_limit = True
        return limited

    return wrap


class ChromiumTest(unittest.IsolatedAsyncioTestCase):
    """A test with a server and a browser. It fails if a page logs a message or throws an error."""

    chromium_options = []
    # Chromium logs each request that fails. Tests in which requests must fail set this.
    requests_fail = False

    def __init_subclass__(cls):
        for name, body in vars(cls).items():
            if name.startswith("test_") and not hasattr(body, "has_limit"):
                raise TypeError(f"{name} has no time limit")

    def make_server(self):
        return Server()

    async def asyncSetUp(self):
        # unittest turns on the loop's debug mode, which logs each slow step.
        asyncio.get_running_loop().slow_callback_duration = 60
        self.messages = []
        self.server = self.make_server()
        self.addCleanup(self.server.remove)
        stack = contextlib.AsyncExitStack()
        self.addAsyncCleanup(stack.aclose)
        playwright = await stack.enter_async_context(async_playwright())
        self.browser = await stack.enter_async_context(await playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=self.chromium_options,
        ))

    async def asyncTearDown(self):
        # The messages of a page arrive before its next response.
        for context in self.browser.contexts:
            for page in context.pages:
                await page.title()
        self.assertEqual(self.messages, [], "a page logged a message or threw an error")

    async def new_context(self, **options):
        """A browser profile of its own, whose messages fail the test."""
        context = await self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE * 1_000)
        context.on("console", self.note)
        context.on("weberror", lambda error: self.messages.append(f"error: {error.error}"))
        return context

    def note(self, message):
        if self.requests_fail and message.text.startswith("Failed to load resource"):
            return
        self.messages.append(f"{message.type}: {message.text}")

    async def eventually(self, condition, seconds=PATIENCE):
        """Waits until a function returns true, at once or as a coroutine."""
        end = time.monotonic() + seconds
        while True:
            result = condition()
            if await result if asyncio.iscoroutine(result) else result:
                return
            self.assertLess(time.monotonic(), end, "the condition does not hold in time")
            await asyncio.sleep(0.05)
