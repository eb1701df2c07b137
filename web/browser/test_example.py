"""The example in Examples/web."""

import asyncio
import os
import re
import signal
import urllib.error
import urllib.request

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from support import PASSWORD, ROOT, BrowserTest, limit

FOLDER = os.path.join(ROOT, "Examples", "web")


class ExampleTests(BrowserTest):
    folder = FOLDER

    async def open(self, policy=True, **options):
        """The example in a browser profile of its own. Only checks by role and text work with its policy."""
        page = await (await self.device(bypass_csp=not policy, **options)).new_page()
        await page.goto(self.site.url)
        return page

    async def enter(self, page, button="Sign up", email="ada@example.com"):
        await page.get_by_label("E-mail").fill(email)
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name=button).click()
        await expect(page.get_by_role("status").first).to_have_text("Up to date")

    async def add(self, page, *titles):
        for title in titles:
            await page.get_by_label("New favorite").fill(title)
            await page.get_by_role("button", name="Add").click()

    async def shows(self, page, *titles):
        await expect(page.locator("#list .title")).to_have_text(list(titles))

    @limit(240)
    async def test_what_a_user_does_in_one_window_the_other_shows(self):
        phone = await self.open()
        await self.enter(phone)
        await expect(phone.get_by_text("You have no favorites yet.")).to_be_visible()
        tablet = await self.open()
        await self.enter(tablet, "Log in")
        await self.add(phone, "Geysir", "Fjord", "Aurora")
        await self.shows(phone, "Aurora", "Fjord", "Geysir")
        await self.shows(tablet, "Aurora", "Fjord", "Geysir")
        await tablet.get_by_role("button", name="Remove Fjord").click()
        await expect(tablet.get_by_role("button", name="Remove Geysir")).to_be_focused()
        await self.shows(phone, "Aurora", "Geysir")
        await phone.get_by_label("Theme").select_option("Dark")
        await expect(tablet.locator("html")).to_have_attribute("data-theme", "dark")
        await expect(tablet.locator("body")).to_have_css("background-color", "rgb(21, 24, 28)")

    @limit(240)
    async def test_a_favorite_moves_by_dragging_by_buttons_and_by_keys(self):
        phone = await self.open()
        await self.enter(phone)
        await self.add(phone, "C", "B", "A")
        await phone.locator("#list li", has_text="A").drag_to(phone.locator("#list li", has_text="C"), target_position={"x": 80, "y": 45})
        await self.shows(phone, "B", "C", "A")
        up = phone.get_by_role("button", name="Move up A")
        await up.click()
        await self.shows(phone, "B", "A", "C")
        await expect(up).to_be_focused()
        await up.press("Alt+ArrowUp")
        await self.shows(phone, "A", "B", "C")
        await expect(phone.get_by_text("A is now number 1.")).to_be_visible()
        # At the end of the list, nothing happens.
        await up.press("Alt+ArrowUp")
        await up.press("Alt+ArrowDown")
        await self.shows(phone, "B", "A", "C")
        await expect(phone.get_by_role("status").first).to_have_text("Up to date")
        tablet = await self.open()
        await self.enter(tablet, "Log in")
        await self.shows(tablet, "B", "A", "C")

    @limit(240)
    async def test_it_works_without_a_network_and_sends_the_changes_later(self):
        self.requests_fail = True
        page = await self.open()
        await self.enter(page)
        await self.add(page, "Aurora")
        await expect(page.get_by_role("status").first).to_have_text("Up to date")
        await page.context.set_offline(True)
        await self.add(page, "Geysir")
        await page.get_by_role("button", name="Move down Geysir").click()
        await self.shows(page, "Aurora", "Geysir")
        await expect(page.get_by_role("status").first).to_have_text("Offline, 2 unconfirmed")
        await expect(page.locator("#list li").nth(1)).to_have_attribute("data-waits", "true")
        await page.context.set_offline(False)
        await expect(page.get_by_role("status").first).to_have_text("Up to date")
        await expect(page.locator("#list li").nth(1)).to_have_attribute("data-waits", "false")
        self.assertEqual([item["title"] for item in self.server.send("/v1/favorites", token=self.outside())["items"]], ["Aurora", "Geysir"])

    @limit(240)
    async def test_a_wrong_password_and_a_refused_write_are_explained(self):
        self.requests_fail = True
        _, token = self.server.sign_up()
        page = await self.open()
        await page.get_by_label("E-mail").fill("ada@example.com")
        await page.get_by_label("Password").fill("wrong password")
        await page.get_by_role("button", name="Log in").click()
        await expect(page.locator("#problem")).not_to_be_empty()
        await page.get_by_label("Password").fill("short")
        await page.get_by_role("button", name="Sign up").click()
        await expect(page.locator("#problem")).to_contain_text("8")
        await self.enter(page, "Log in")
        await self.add(page, "Aurora")
        await expect(page.get_by_role("status").first).to_have_text("Up to date")
        await page.context.set_offline(True)
        await page.get_by_role("button", name="Remove Aurora").click()
        [item] = self.server.send("/v1/favorites", token=token)["items"]
        self.server.send(f"/v1/favorites/{item['id']}", "DELETE", token=token)
        await page.context.set_offline(False)
        await expect(page.locator("#reasons")).not_to_be_empty()
        await page.get_by_role("button", name="Dismiss").click()
        await expect(page.locator("#refused")).to_be_hidden()
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_label("E-mail")).to_be_visible()

    @limit(240)
    async def test_markup_in_a_title_is_shown_as_text(self):
        page = await self.open()
        await self.enter(page)
        title = "<b>bold</b><img src=x onerror=alert(1)>"
        await self.add(page, title)
        await self.shows(page, title)
        await expect(page.locator("#list b, #list img")).to_have_count(0)

    @limit(240)
    async def test_axe_finds_no_violation_in_any_theme_and_width(self):
        page = await self.open(policy=False)
        await expect(page.get_by_label("E-mail")).to_be_visible()
        await self.check(page)
        await self.enter(page)
        await self.add(page, "Aurora", "A favorite with a title that is so long that it needs several lines on a phone")
        for theme in ["light", "dark"]:
            await page.get_by_label("Theme").select_option(theme)
            for width in [320, 1280]:
                await page.set_viewport_size({"width": width, "height": 700})
                await self.check(page)
                self.assertLessEqual(await page.evaluate("document.documentElement.scrollWidth"), width)

    async def check(self, page):
        results = await Axe().run(page)
        self.assertEqual(results.violations_count, 0, results.generate_report())

    @limit(240)
    async def test_one_command_serves_the_example_beside_a_server_and_stops_both(self):
        process = await asyncio.create_subprocess_exec(
            os.path.join(ROOT, "scripts", "run"), "--binary", os.environ["LOCKSTEP_BINARY"], "--example", "web", "--example-port", "0",
            "--", "--port", "0", "--data", os.path.join(self.server.folder, "example.db"), "--log-level", "error",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            lines = [(await process.stdout.readline()).decode() for _ in range(2)]
            server, example = (re.search(r"http://127\.0\.0\.1:\d+", line)[0] for line in lines)
            page = await (await self.device(bypass_csp=False)).new_page()
            # To a browser, this is another origin than the address that the command prints.
            await page.goto(example.replace("127.0.0.1", "localhost"))
            await self.enter(page)
            await self.add(page, "Aurora")
            await expect(page.get_by_role("status").first).to_have_text("Up to date")
            await page.close()
        finally:
            process.send_signal(signal.SIGINT)
            code = await process.wait()
        self.assertEqual(code, 0)
        for url in [server, example]:
            with self.assertRaises(urllib.error.URLError):
                urllib.request.urlopen(url, timeout=5)

    @limit(5)
    async def test_the_app_has_at_most_60_lines_and_no_markup_in_its_code(self):
        with open(os.path.join(FOLDER, "app.js")) as file:
            lines = [line for line in file if line.strip() and not line.strip().startswith("//")]
        self.assertLessEqual(len(lines), 60)
        for name in os.listdir(FOLDER):
            if name.endswith(".js"):
                with open(os.path.join(FOLDER, name)) as file:
                    self.assertIsNone(re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", file.read()), name)
