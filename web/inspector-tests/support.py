"""Tests of the inspector: a Lockstep server and Chromium, both new for each test."""

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
import urllib.error
import urllib.request

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import async_playwright, expect

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "..", "inspector")
ADMINISTRATOR = "an-administrator-token-for-tests"
PASSWORD = "correct horse"
MARKUP = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"


class Server:
    """The server in LOCKSTEP_BINARY, with a store of its own. It keeps its port when it starts again."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="lockstep-inspector-")
        self.url = "http://127.0.0.1:0"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [os.environ["LOCKSTEP_BINARY"], "serve", "--port", self.url.rsplit(":", 1)[1], "--inspector", "--threads", "1"]
            + ["--data", os.path.join(self.folder, "lockstep.db"), "--log-level", "error"],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "LOCKSTEP_ADMIN_TOKEN": ADMINISTRATOR},
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

    def send(self, path, method="GET", body=None, token=ADMINISTRATOR):
        """Returns the JSON of the response."""
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"Bearer {token}"} if token else {}, method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read()
        return json.loads(text) if text else None

    def sign_up(self, email="ada@example.com", device="phone"):
        """Returns the id and the token of a new user."""
        body = {"email": email, "password": PASSWORD, "device": device}
        made = self.send("/v1/users", "POST", body, token=None)
        return made["user"]["id"], made["token"]

    def act(self, token, *actions):
        """Performs actions as one transaction: each is a module, a type and a payload."""
        body = {"actions": [{"module": module, "type": type, "payload": payload} for module, type, payload in actions]}
        return self.send("/v1/actions", "POST", body, token)

    def fill(self, token, size):
        """Adds favorites with ids and titles of usual lengths."""
        for start in range(0, size, 500):
            self.act(token, *[
                ("favorites", "add", {"id": f"photo:{number}", "title": f"The photo with the number {number}"})
                for number in range(start, min(size, start + 500))
            ])


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


class InspectorTest(unittest.IsolatedAsyncioTestCase):
    """A test fails if a page logs a message, throws an error, or breaks its content security policy."""

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
        self.server = Server()
        self.addCleanup(self.server.remove)
        stack = contextlib.AsyncExitStack()
        self.addAsyncCleanup(stack.aclose)
        playwright = await stack.enter_async_context(async_playwright())
        self.browser = await stack.enter_async_context(await playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
        ))

    async def asyncTearDown(self):
        # The messages of a page arrive before its next response.
        for context in self.browser.contexts:
            for page in context.pages:
                await page.title()
        self.assertEqual(self.messages, [], "a page logged a message or threw an error")

    async def page(self, **options):
        """A new window without a token. Time zone and language are fixed."""
        context = await self.browser.new_context(**{
            "viewport": {"width": 1280, "height": 800}, "timezone_id": "UTC", "locale": "en-GB", **options,
        })
        context.set_default_timeout(15_000)
        context.on("console", self.note)
        context.on("weberror", lambda error: self.messages.append(f"error: {error.error}"))
        # Playwright's own scripts run in a world of their own, which the policy does not restrict.
        await context.add_init_script(
            "addEventListener('securitypolicyviolation', event => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`))"
        )
        if os.environ.get("LOCKSTEP_INSPECTOR_FILES"):
            await context.route("**/inspector/**", self.serve_from_folder)
        return await context.new_page()

    async def serve_from_folder(self, route):
        """Serves the files of the folder, so that a change can be tried without a build."""
        name = route.request.url.split("#")[0].rsplit("/", 1)[1] or "index.html"
        with open(os.path.join(FILES, name)) as file:
            body = file.read()
        types = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
        await route.fulfill(body=body, headers={
            "Content-Type": types[name.rsplit(".", 1)[1]] + "; charset=utf-8",
            "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'",
        })

    def note(self, message):
        if self.requests_fail and message.text.startswith("Failed to load resource"):
            return
        self.messages.append(f"{message.type}: {message.text}")

    async def sign_in(self, page, address="", token=ADMINISTRATOR):
        await page.goto(f"{self.server.url}/inspector/{address}")
        field = page.locator("input:visible").first
        await field.fill(token)
        await field.press("Enter")

    async def open(self, address="#/live", **options):
        """A window with this page, signed in."""
        page = await self.page(**options)
        await self.sign_in(page, address)
        await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        await self.settled(page)
        return page

    async def visit(self, page, address):
        await page.evaluate("address => { location.hash = address }", address)
        await self.settled(page)

    async def settled(self, page):
        """Waits until the page has shown its content."""
        await expect(page.locator(".page > *").first).to_be_attached()
        await expect(page.get_by_text("Loading…", exact=True)).to_have_count(0)

    async def check(self, page):
        """Runs axe, and looks for content that is wider than the window."""
        results = await Axe().run(page)
        self.assertEqual(results.violations_count, 0, f"{page.url}\n{results.generate_report()}")
        width = page.viewport_size["width"]
        self.assertLessEqual(await page.evaluate("document.documentElement.scrollWidth"), width, page.url)

    async def eventually(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not await condition():
            self.assertLess(time.monotonic(), end, "the condition does not hold in time")
            await asyncio.sleep(0.05)


def example(server):
    """Two users with some history. Returns the id and the token of the first."""
    ada, phone = server.sign_up("ada@example.com", "Ada's phone")
    tablet = server.send("/v1/sessions", "POST", {"email": "ada@example.com", "password": PASSWORD, "device": "Ada's tablet"}, token=None)["token"]
    _, other = server.sign_up("grace@example.com", "Grace's laptop")
    for number, title in enumerate(["Northern lights over Tromsø", "Strokkur geyser", "Lofoten at dawn", "Svartifoss waterfall"]):
        server.act(phone, ("favorites", "add", {"id": f"photo:{number + 1}", "title": title, "data": {"place": "north", "stars": number}}))
    cursor = server.send("/v1/changes?since=now", token=tablet)["cursor"]
    server.send(f"/v1/changes?since={cursor}", token=tablet)
    server.send("/v1/defaults/standard", "PATCH", {"theme": "dark", "language": "en", "columns": 3}, phone)
    server.act(phone, ("favorites", "move", {"id": "photo:3", "index": 0}), ("defaults", "increment", {"key": "opened", "by": 1}))
    server.act(phone, ("favorites", "update", {"id": "photo:2", "title": "Strokkur, erupting"}))
    server.act(phone, ("favorites", "remove", {"id": "photo:4"}))
    server.send("/v1/profile", "PATCH", {"companyName": "Analytical Engines", "position": "Programmer"}, phone)
    for key, value in [("theme", "light"), ("volume", 7), ("sound", False)]:
        server.act(other, ("defaults", "set", {"key": key, "value": value}))
    server.send("/v1/admin/registered/standard", "PUT", {"volume": 5, "beta": {"sharing": True, "limit": 20}})
    server.send("/v1/reactors/workingHistory", "POST", {}, phone)
    server.send("/v1/reactors/favoritesTop", "POST", {}, other)
    return ada, phone
