"""Tests of the inspector: a Lockstep server and Chromium, both new for each test."""

import os
import sys

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "..", "inspector")
sys.path.insert(0, os.path.join(HERE, "..", "browser"))

import chromium
from chromium import PASSWORD, ChromiumTest, limit

ADMINISTRATOR = "an-administrator-token-for-tests"
MARKUP = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"


class Server(chromium.Server):
    """A server with the inspector."""

    token = ADMINISTRATOR

    def __init__(self):
        super().__init__("--inspector", LOCKSTEP_ADMIN_TOKEN=ADMINISTRATOR)

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


class InspectorTest(ChromiumTest):
    """A test fails if a page logs a message, throws an error, or breaks its content security policy."""

    def make_server(self):
        return Server()

    async def page(self, **options):
        """A new window without a token. Time zone and language are fixed."""
        context = await self.new_context(**{
            "viewport": {"width": 1280, "height": 800}, "timezone_id": "UTC", "locale": "en-GB", **options,
        })
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


def example(server):
    """Two users with some history. Returns the id and the token of the first."""
    ada, phone = server.sign_up("ada@example.com", "Ada's phone")
    tablet = server.log_in("ada@example.com", "Ada's tablet")
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
