"""Saves screenshots of the pages in the folder LOCKSTEP_SCREENSHOTS."""

import os

from support import AccountTest, limit


class Screenshots(AccountTest):
    @limit(120)
    async def test_screenshots(self):
        phone = {"width": 360, "height": 640}
        for name, path, options in [
            ("reset-light", "reset", {"color_scheme": "light"}), ("reset-dark", "reset", {"color_scheme": "dark"}),
            ("reset-phone", "reset", {"viewport": phone, "color_scheme": "dark", "locale": "de"}),
            ("confirm-phone", "confirm", {"viewport": phone, "color_scheme": "light", "locale": "ja"}),
            ("confirm-light", "confirm", {"color_scheme": "light", "locale": "fr"}),
        ]:
            page = await self.page(path, **options)
            await page.get_by_role("button").wait_for()
            if name == "reset-dark":
                self.server.response = (422, {"errors": [{"detail": "The password is shorter than 8 characters."}]})
                await page.get_by_label("New password").fill("short")
                await page.get_by_role("button").click()
                await page.get_by_role("listitem").wait_for()
            await page.screenshot(path=os.path.join(os.environ["LOCKSTEP_SCREENSHOTS"], f"account-{name}.png"))
        self.server.response = (204,)
        page = await self.page("confirm", color_scheme="dark")
        await page.get_by_role("button").click()
        await page.get_by_text("You can close this page.").wait_for()
        await page.screenshot(path=os.path.join(os.environ["LOCKSTEP_SCREENSHOTS"], "account-done-dark.png"))
