"""Tests in a browser: a Lockstep server, a web site, and Chromium, all of them new for each test."""

import asyncio
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

from playwright.async_api import async_playwright

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "Examples", "web"))

from serve import Site

PASSWORD = "correct horse"


class Server:
    """The server in LOCKSTEP_BINARY, with a store of its own. It keeps its port when it starts again."""

    def __init__(self, origin):
        self.folder = tempfile.mkdtemp(prefix="lockstep-web-")
        self.data = os.path.join(self.folder, "lockstep.db")
        self.origin = origin
        self.url = "http://127.0.0.1:0"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [os.environ["LOCKSTEP_BINARY"], "serve", "--port", self.url.rsplit(":", 1)[1], "--data", self.data]
            + ["--log-level", "error", "--threads", "1", "--cors-origin", self.origin],
            stdout=subprocess.PIPE, text=True,
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if not found:
            raise RuntimeError(f"the server does not start: {line}")
        self.url = found[0]

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()

    def remove(self):
        self.end()
        shutil.rmtree(self.folder)

    def send(self, path, method="GET", body=None, token=None):
        """Returns the JSON of the response."""
        fields = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body is not None else None, fields, method=method)
        with urllib.request.urlopen(request, timeout=10) as response:
            text = response.read()
        return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()

    def sign_up(self, email="ada@example.com"):
        return self.send("/v1/users", "POST", {"email": email, "password": PASSWORD, "device": "outside"})["token"]

    def metric(self, name):
        return int(re.search(rf"^{name} (\d+)", self.send("/metrics"), re.MULTILINE)[1])


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


class BrowserTest(unittest.IsolatedAsyncioTestCase):
    """A test with a site, a server and a browser. It fails if a page logs a message or throws an error."""

    folder = os.path.join(HERE, "pages")
    # Chromium logs each request that fails. Tests in which requests must fail set this.
    requests_fail = False

    def __init_subclass__(cls):
        for name, body in vars(cls).items():
            if name.startswith("test_") and not hasattr(body, "has_limit"):
                raise TypeError(f"{name} has no time limit")

    async def asyncSetUp(self):
        # unittest turns on the loop's debug mode, which logs each slow step.
        asyncio.get_running_loop().slow_callback_duration = 60
        self.messages = []
        self.site = Site(self.folder)
        threading.Thread(target=self.site.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.addCleanup(self.site.server_close)
        self.addCleanup(self.site.shutdown)
        self.server = Server(self.site.url)
        self.addCleanup(self.server.remove)
        self.site.lockstep = self.server.url
        stack = contextlib.AsyncExitStack()
        self.addAsyncCleanup(stack.aclose)
        playwright = await stack.enter_async_context(async_playwright())
        self.browser = await stack.enter_async_context(await playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=["--enable-precise-memory-info", "--js-flags=--expose-gc"],
        ))

    async def asyncTearDown(self):
        # The messages of a page arrive before its next response.
        for context in self.browser.contexts:
            for page in context.pages:
                await page.title()
        self.assertEqual(self.messages, [], "a page logged a message or threw an error")

    async def device(self, **options):
        """A browser profile of its own: nothing is shared with other devices."""
        # The policy of the site forbids the evaluation of text, which these tests do all the time.
        context = await self.browser.new_context(**{"bypass_csp": True, **options})
        context.set_default_timeout(15_000)
        context.on("console", self.note)
        context.on("weberror", lambda error: self.messages.append(f"error: {error.error}"))
        return context

    def note(self, message):
        if self.requests_fail and message.text.startswith("Failed to load resource"):
            return
        self.messages.append(f"{message.type}: {message.text}")

    async def tab(self, device, **options):
        """A page with a client."""
        page = await device.new_page()
        await page.goto(f"{self.site.url}/tab.html?" + urllib.parse.urlencode({"server": self.server.url, **options}))
        await self.until(page, "globalThis.isLoaded")
        return page

    async def user(self, device, email="ada@example.com", **options):
        """A tab whose user has just signed up."""
        page = await self.tab(device, **options)
        await page.evaluate("email => lockstep.signUp(account(email))", email)
        await self.live(page)
        return page

    async def log_in(self, device, email="ada@example.com", **options):
        page = await self.tab(device, **options)
        await page.evaluate("email => lockstep.logIn(account(email))", email)
        await self.live(page)
        return page

    async def until(self, page, condition, argument=None, seconds=15):
        """Waits until a JavaScript expression is true."""
        await page.wait_for_function(condition, arg=argument, timeout=seconds * 1_000, polling=20)

    async def state(self, page, name):
        await self.until(page, "name => lockstep.state.name === name", name)

    async def live(self, *pages):
        for page in pages:
            await self.until(page, "lockstep.state.name === 'live'")

    async def idle(self, page):
        """Waits until the server has confirmed all writes."""
        await self.until(page, "lockstep.state.name === 'live' && lockstep.state.pending === 0")

    async def eventually(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "the condition does not hold in time")
            await asyncio.sleep(0.05)

    def outside(self, email="ada@example.com"):
        """The token of another device of the user, which is no browser."""
        return self.server.send("/v1/sessions", "POST", {"email": email, "password": PASSWORD})["token"]
