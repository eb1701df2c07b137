"""Tests of the JavaScript client: a Lockstep server, a web site, and Chromium, all of them new for each test."""

import os
import re
import sys
import threading
import urllib.parse

from chromium import PASSWORD, PATIENCE, ChromiumTest, Server, limit

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "Examples", "web"))

from serve import Site


class BrowserTest(ChromiumTest):
    """A test with a site of its own. The server permits requests from the site's pages."""

    folder = os.path.join(HERE, "pages")
    chromium_options = ["--enable-precise-memory-info", "--js-flags=--expose-gc"]

    def make_server(self):
        self.site = Site(self.folder)
        threading.Thread(target=self.site.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.addCleanup(self.site.server_close)
        self.addCleanup(self.site.shutdown)
        server = Server("--cors-origin", self.site.url)
        self.site.lockstep = server.url
        return server

    def metric(self, name):
        return int(re.search(rf"^{name} (\d+)", self.server.send("/metrics"), re.MULTILINE)[1])

    async def device(self, **options):
        """A browser profile of its own: nothing is shared with other devices."""
        # The policy of the site forbids the evaluation of text, which these tests do all the time.
        return await self.new_context(**{"bypass_csp": True, **options})

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

    async def until(self, page, condition, argument=None, seconds=PATIENCE):
        """Waits until a JavaScript expression is true."""
        await page.wait_for_function(condition, arg=argument, timeout=seconds * 1_000, polling=20)

    async def state(self, page, name):
        await self.until(page, "name => lockstep.state.name === name", name)

    async def live(self, *pages):
        for page in pages:
            await self.until(page, "lockstep.state.name === 'live'")

    async def idle(self, page, seconds=PATIENCE):
        """Waits until the server has confirmed all writes."""
        await self.until(page, "lockstep.state.name === 'live' && lockstep.state.pending === 0", seconds=seconds)

    def outside(self, email="ada@example.com"):
        """The token of another device of the user, which is no browser."""
        return self.server.log_in(email)
