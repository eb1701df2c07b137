"""Saves screenshots of the example in the folder LOCKSTEP_SCREENSHOTS."""

import os

from playwright.async_api import expect

from support import limit
from test_example import FOLDER, ExampleTests as _Example

TITLES = ["Northern lights over Tromsø", "Strokkur geyser", "Lofoten at dawn", "Svartifoss waterfall", "Reykjanes lighthouse"]


class Screenshots(_Example):
    folder = FOLDER
    requests_fail = True

    @limit(240)
    async def test_screenshots(self):
        folder = os.environ["LOCKSTEP_SCREENSHOTS"]
        page = await self.open(viewport={"width": 800, "height": 580})
        await self.enter(page)
        await self.add(page, *reversed(TITLES))
        await page.get_by_label("Theme").select_option("Light")
        await expect(page.get_by_role("status").first).to_have_text("Up to date")
        await page.evaluate("document.activeElement.blur()")
        await page.screenshot(path=os.path.join(folder, "web-light.png"))
        await page.get_by_label("Theme").select_option("Dark")
        await expect(page.get_by_role("status").first).to_have_text("Up to date")
        await page.evaluate("document.activeElement.blur()")
        await page.screenshot(path=os.path.join(folder, "web-dark.png"))
        await page.get_by_label("Theme").select_option("Light")
        await expect(page.get_by_role("status").first).to_have_text("Up to date")
        await page.set_viewport_size({"width": 320, "height": 630})
        await page.context.set_offline(True)
        await page.get_by_role("button", name=f"Remove {TITLES[4]}").click()
        await self.add(page, "Glacier lagoon")
        await expect(page.get_by_role("status").first).to_have_text("Offline, 2 unconfirmed")
        await page.evaluate("document.activeElement.blur()")
        await page.screenshot(path=os.path.join(folder, "web-narrow.png"))


def load_tests(loader, *_):
    return loader.suiteClass([Screenshots("test_screenshots")])
