"""Saves screenshots of the inspector in the folder LOCKSTEP_SCREENSHOTS."""

import os
import random
import re

from playwright.async_api import expect

from support import InspectorTest, example, limit

NAMES = ["grace", "alan", "edsger", "barbara", "donald", "frances", "john", "katherine", "margaret", "radia", "tim", "annie"]


class Screenshots(InspectorTest):
    # The picture of the registered defaults shows a refusal.
    requests_fail = True

    async def shoot(self, page, name):
        await page.evaluate("document.activeElement.blur()")
        await page.mouse.move(1, 1)
        await page.wait_for_timeout(150)
        await page.screenshot(path=os.path.join(os.environ["LOCKSTEP_SCREENSHOTS"], f"inspector-{name}.png"))

    @limit(240)
    async def test_screenshots(self):
        random.seed(1)
        ada, phone = example(self.server)
        tokens = [self.server.sign_up(f"{name}@example.com", f"{name.title()}'s phone")[1] for name in NAMES[1:]]
        size = {"width": 1024, "height": 640}
        light, dark = [await self.open("#/users", viewport=size, color_scheme=scheme) for scheme in ["light", "dark"]]

        # Health: 15 minutes pass on the clock of the page.
        page = await self.page(viewport=size, color_scheme="dark")
        await page.clock.install()
        await self.sign_in(page, "#/health")
        await expect(page.get_by_role("img", name=re.compile("^Memory: now"))).to_be_visible()
        for tick in range(178):
            for _ in range(random.randrange(1, 4) + (6 if 60 < tick < 90 else 0)):
                token = random.choice(tokens)
                self.server.act(token, ("defaults", "increment", {"key": "opened", "by": 1}))
            async with page.expect_response("**/metrics"):
                await page.clock.run_for(5_000)
        await page.wait_for_timeout(300)
        await self.shoot(page, "health")

        await self.visit(light, "#/live")
        for token in tokens[:6]:
            self.server.act(token, ("favorites", "add", {"id": f"photo:{random.randrange(1_000)}", "title": "Aurora"}))
        self.server.act(phone, ("favorites", "update", {"id": "photo:3", "title": "Lofoten at sunrise", "data": {"place": "north", "stars": 5}}))
        self.server.act(tokens[2], ("favorites", "add", {"id": "photo:77"}), ("defaults", "increment", {"key": "opened", "by": 1}))
        await expect(light.get_by_text("add photo:77")).to_be_visible()
        await light.locator("[data-index]", has_text="update photo:3").first.click()
        await light.get_by_role("tab", name="Difference").click()
        await expect(light.locator(".difference")).to_be_visible()
        await self.shoot(light, "live")

        await self.visit(dark, "#/users")
        await self.shoot(dark, "users")
        await self.visit(light, f"#/users/{ada}")
        await light.locator("[data-index]").nth(1).click()
        await self.shoot(light, "user")
        await self.visit(dark, f"#/users/{ada}/devices")
        await self.shoot(dark, "devices")
        await self.visit(dark, f"#/time/{ada}?revision=7")
        await expect(dark.locator(".difference")).to_be_visible()
        await self.shoot(dark, "time")
        await self.visit(light, f"#/act/{ada}?module=favorites&type=move")
        await light.get_by_label("id", exact=True).fill("photo:3")
        await light.get_by_label("index", exact=True).fill("2")
        await light.get_by_role("button", name="Dry run").click()
        await expect(light.get_by_text("This would happen")).to_be_visible()
        await self.shoot(light, "act")
        await self.visit(dark, "#/screens")
        await dark.locator("[data-index]").first.click()
        await expect(dark.locator("aside .json")).to_be_visible()
        await self.shoot(dark, "screens")
        await self.visit(light, "#/registered")
        await light.get_by_label("Values as JSON").fill('{\n  "beta": {\n    "sharing": true,\n    "limit": 50\n  },\n  "volume": 5\n}')
        self.server.send("/v1/admin/registered/standard", "PATCH", {"volume": 8})
        await light.get_by_role("button", name="Save changes to standard").click()
        await expect(light.get_by_text("have changed since")).to_be_visible()
        await self.shoot(light, "registered")

        narrow = await self.open("#/live", viewport={"width": 360, "height": 640}, color_scheme="dark")
        await expect(narrow.get_by_text("barbara@example.com").first).to_be_visible()
        await self.shoot(narrow, "narrow")
        signing_in = await self.page(viewport={"width": 640, "height": 400}, color_scheme="light")
        await signing_in.goto(f"{self.server.url}/inspector/")
        await self.shoot(signing_in, "sign-in")


def load_tests(loader, *_):
    return loader.suiteClass([Screenshots("test_screenshots")])
