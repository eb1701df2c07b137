"""The code in docs/web.md."""

import asyncio
import os
import re
import tempfile

from playwright.async_api import expect

from support import ROOT, BrowserTest, limit

with open(os.path.join(ROOT, "docs", "web.md")) as guide:
    TEXT = guide.read()


class GuideTests(BrowserTest):
    async def serve(self, name, text):
        """Serves a file with the code of the guide, and opens it or the page that loads it."""
        for address in ["http://127.0.0.1:8080", "https://state.example.com"]:
            text = text.replace(address, self.server.url)
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    async def asyncSetUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-web-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        await super().asyncSetUp()

    @limit(240)
    async def test_the_first_page_shows_the_favorites_of_all_tabs(self):
        self.requests_fail = True
        [text] = re.findall(r"```html\n(.*?)```", TEXT, re.DOTALL)
        self.assertEqual(text.count("\n"), 10)
        await self.serve("index.html", text.replace("<title>", '<link rel="icon" href="data:,"><title>'))
        url = f"{self.site.url}/#{self.server.sign_up()[1]}"
        device = await self.device()
        pages = [await device.new_page(), await device.new_page(), await (await self.device()).new_page()]
        for number, page in enumerate(pages):
            await page.goto(url)
            await page.get_by_role("button", name="Add").click()
            for other in pages[:number + 1]:
                await expect(other.locator("li")).to_have_count(number + 1)
            # The id of a favorite is the time in seconds.
            await asyncio.sleep(1)
        await self.eventually(lambda: self.metric("lockstep_waiting_requests") == 2)
        self.server.end()
        await pages[0].get_by_role("button", name="Add").click()
        await expect(pages[1].locator("li")).to_have_count(4)
        self.server.start()
        await expect(pages[2].locator("li")).to_have_count(4)

    @limit(240)
    async def test_the_examples_run_and_print_what_their_comments_say(self):
        self.requests_fail = True
        # The blocks after this heading need frameworks.
        code = "".join(re.findall(r"```js\n(.*?)```", TEXT.split("## React, Vue and Svelte")[0], re.DOTALL))
        expected = re.findall(r"// → (.*)", code)
        self.assertGreater(len(expected), 10)
        # As in a terminal: strings as they are, all other values as JSON.
        await self.serve("guide.js", code + """
globalThis.isDone = true
await lockstep.stop()
""")
        await self.serve("index.html", """<!doctype html><title>The guide</title><link rel="icon" href="data:,">
<script type="module" src="before.js"></script><script type="module" src="guide.js"></script>""")
        await self.serve("before.js", """
globalThis.lines = []
console.log = (...values) => {
  lines.push(values.map(value => typeof value === 'string' ? value : JSON.stringify(value)).join(' '))
}""")
        page = await (await self.device()).new_page()
        await page.goto(self.site.url)
        await self.until(page, "globalThis.isDone")
        self.assertEqual(await page.evaluate("lines"), expected)
