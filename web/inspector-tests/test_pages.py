"""Every page, in light and dark, on wide and narrow screens, and with the keyboard alone."""

import contextlib
import json
import os
import re
import signal

from playwright.async_api import expect

from support import ADMINISTRATOR, InspectorTest, example, limit


def addresses(user):
    return [
        "#/live", "#/users", f"#/users/{user}", f"#/users/{user}/devices", f"#/users/{user}/waits", f"#/users/{user}/journal",
        f"#/users/{user}/account", "#/time", f"#/time/{user}?revision=6", f"#/time/{user}?revision=6&view=state", "#/act",
        f"#/act/{user}", f"#/act/{user}?as=json", "#/screens", "#/registered", "#/health",
    ]


class EveryPageTests(InspectorTest):
    async def check_all(self, **options):
        ada, _ = example(self.server)
        page = await self.open(**options)
        for address in addresses(ada):
            await self.visit(page, address)
            await self.check(page)
        # The panels with details cover the page on narrow screens.
        for address in ["#/live", f"#/users/{ada}", f"#/users/{ada}/journal", "#/screens"]:
            await self.visit(page, address)
            await page.locator("[role=row][data-index]").nth(1).click()
            await expect(page.locator("aside.details")).to_be_visible()
            await self.check(page)
        await page.get_by_role("button", name="Close").click()

    @limit(120)
    async def test_every_page_is_accessible_and_silent_in_light_on_a_wide_screen(self):
        await self.check_all(color_scheme="light")

    @limit(120)
    async def test_every_page_is_accessible_and_silent_in_dark_on_a_wide_screen(self):
        await self.check_all(color_scheme="dark")

    @limit(120)
    async def test_every_page_is_accessible_and_fits_in_light_on_a_screen_of_320_pixels(self):
        await self.check_all(color_scheme="light", viewport={"width": 320, "height": 640})

    @limit(120)
    async def test_every_page_is_accessible_and_fits_in_dark_on_a_screen_of_320_pixels(self):
        await self.check_all(color_scheme="dark", viewport={"width": 320, "height": 640})

    @limit(60)
    async def test_each_page_has_a_link_of_its_own_that_a_reload_keeps(self):
        ada, _ = example(self.server)
        page = await self.open()
        for address in addresses(ada):
            await self.visit(page, address)
            title, heading = await page.title(), await page.locator("h1").inner_text()
            await page.reload()
            await self.settled(page)
            await expect(page).to_have_title(title)
            self.assertEqual(await page.locator("h1").inner_text(), heading)

    @limit(60)
    async def test_back_and_forward_return_to_the_pages_before(self):
        ada, _ = example(self.server)
        page = await self.open("#/users")
        await page.get_by_role("link", name="ada@example.com").click()
        await expect(page.locator("h1")).to_contain_text("ada@example.com")
        await page.get_by_role("link", name="Devices").click()
        await expect(page.get_by_role("region", name="Devices")).to_be_visible()
        await page.go_back()
        await expect(page.get_by_role("grid", name="Elements of favorites")).to_be_visible()
        await page.go_back()
        await expect(page.get_by_role("grid", name="Users")).to_be_visible()
        await page.go_forward()
        await expect(page).to_have_url(re.compile(f"#/users/{ada}$"))
        await expect(page.locator("h1")).to_contain_text("ada@example.com")

    @limit(60)
    async def test_an_unknown_page_opens_the_first_one(self):
        page = await self.open("#/nothing/here")
        await expect(page).to_have_url(re.compile("#/live$"))

    @limit(30)
    async def test_the_section_of_collections_is_shown_only_if_the_server_has_them(self):
        page = await self.open()
        links = self.server.send("/")["links"]
        count = 1 if "v1/admin/collections" in links else 0
        await expect(page.get_by_role("link", name="Collections")).to_have_count(count)


class KeyboardTests(InspectorTest):
    async def tab_to(self, page, locator, most=60):
        for _ in range(most):
            if await locator.evaluate("element => element === document.activeElement"):
                return
            await page.keyboard.press("Tab")
        self.fail(f"Tab does not reach {locator}")

    @limit(90)
    async def test_the_keyboard_alone_signs_in_and_reaches_every_page(self):
        ada, _ = example(self.server)
        page = await self.page()
        await page.goto(f"{self.server.url}/inspector/")
        await expect(page.locator("input:visible").first).to_be_focused()
        await page.keyboard.type(ADMINISTRATOR)
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("Live")
        for name in ["Users", "Time travel", "Act", "Screens", "Registered", "Health", "Live"]:
            await self.tab_to(page, page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True))
            await page.keyboard.press("Enter")
            await self.settled(page)
            await expect(page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")).to_have_text(name)
            await expect(page.locator("h1")).to_be_focused()

    @limit(60)
    async def test_the_skip_link_is_first_and_leads_to_the_page(self):
        page = await self.open()
        await page.reload()
        await self.settled(page)
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()

    @limit(60)
    async def test_arrow_keys_move_in_a_list_enter_opens_and_escape_closes(self):
        example(self.server)
        page = await self.open()
        grid = page.get_by_role("grid")
        await self.tab_to(page, grid)
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("ArrowDown")
        chosen = page.locator("[role=row][aria-selected=true]")
        await expect(chosen).to_have_attribute("data-index", "1")
        await page.keyboard.press("Enter")
        panel = page.get_by_role("complementary", name="Entry")
        await expect(panel).to_be_focused()
        await expect(page).to_have_url(re.compile("entry="))
        await self.tab_to(page, panel.get_by_role("tab", name="Action"))
        await page.keyboard.press("ArrowRight")
        await page.keyboard.press("ArrowRight")
        await expect(panel.get_by_role("tab", name="Difference")).to_be_focused()
        await expect(panel.get_by_role("tabpanel").locator(".difference")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(panel).to_have_count(0)
        await expect(grid).to_be_focused()
        await page.keyboard.press("End")
        await expect(chosen).to_have_attribute("data-index", "12")
        await page.keyboard.press("Home")
        await expect(chosen).to_have_attribute("data-index", "0")

    @limit(60)
    async def test_a_slash_focuses_the_search(self):
        example(self.server)
        page = await self.open("#/users")
        await page.locator("h1").focus()
        await page.keyboard.press("/")
        await expect(page.get_by_label("E-mail address begins with")).to_be_focused()
        await page.keyboard.type("GRACE")
        await expect(page.get_by_role("grid").get_by_role("link")).to_have_text(["grace@example.com"])
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_contain_text("grace@example.com")

    @limit(60)
    async def test_focus_is_visible_on_everything_that_tab_reaches(self):
        example(self.server)
        page = await self.open("#/time/" + self.server.send("/v1/admin/users")["items"][0]["id"])
        seen = 0
        await page.locator("h1").focus()
        for _ in range(24):
            await page.keyboard.press("Tab")
            outline = await page.evaluate("""() => {
                const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
                return document.activeElement === document.body || outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1
            }""")
            self.assertTrue(outline, await page.evaluate("document.activeElement.outerHTML"))
            seen += 1
        self.assertEqual(seen, 24)


class ContentTests(InspectorTest):
    @limit(60)
    async def test_actions_of_all_users_appear_as_they_commit(self):
        _, phone = example(self.server)
        page = await self.open()
        rows = page.locator("[role=row][data-index]")
        await expect(rows).to_have_count(13)
        self.server.act(phone, ("favorites", "add", {"id": "photo:9", "title": "New"}))
        await expect(rows).to_have_count(14)
        await expect(rows.first).to_contain_text("add photo:9")
        self.assertEqual(await rows.evaluate_all("rows => rows.map(row => Number(row.dataset.index))"), list(range(14)))
        await expect(rows.first).to_contain_text("ada@example.com")
        await expect(rows.first).to_contain_text("Ada's phone")
        await expect(rows.first).to_contain_text("inserted")

    @limit(60)
    async def test_a_click_opens_the_entry_that_was_pressed_though_new_ones_have_moved_it(self):
        _, phone = example(self.server)
        page = await self.open()
        row = page.locator("[role=row][data-index]", has_text="remove photo:4")
        await expect(row).to_contain_text("ada@example.com")
        box = await row.bounding_box()
        await page.mouse.move(box["x"] + 200, box["y"] + 10)
        await page.mouse.down()
        self.server.act(phone, ("favorites", "add", {"id": "photo:9"}), ("favorites", "add", {"id": "photo:10"}))
        await expect(page.get_by_text("add photo:10")).to_be_visible()
        await page.mouse.up()
        await expect(page.get_by_role("complementary", name="Entry").locator("h2")).to_have_text("remove photo:4")

    @limit(60)
    async def test_filters_by_user_collection_and_text_are_kept_in_the_address(self):
        ada, phone = example(self.server)
        page = await self.open()
        rows = page.locator("[role=row][data-index]")
        await page.get_by_label("User").fill("ada@")
        await page.get_by_label("User").press("Enter")
        await expect(rows).to_have_count(10)
        await page.get_by_label("Collection").fill("favorites")
        await page.get_by_label("Collection").press("Enter")
        await expect(rows).to_have_count(7)
        await page.get_by_label("Search").fill("STROKKUR")
        await expect(rows).to_have_count(2)
        await page.reload()
        await expect(rows).to_have_count(2)
        await expect(page.get_by_label("User")).to_have_value("ada@example.com")
        self.server.act(phone, ("favorites", "update", {"id": "photo:2", "title": "Strokkur again"}))
        self.server.act(phone, ("defaults", "set", {"key": "Strokkur", "value": 1}))
        await expect(rows).to_have_count(3)
        self.assertIn(f"user={ada}", page.url)

    @limit(60)
    async def test_a_pause_is_remembered_and_what_came_meanwhile_appears_after_it(self):
        _, phone = example(self.server)
        page = await self.open()
        rows = page.locator("[role=row][data-index]")
        await expect(rows).to_have_count(13)
        await page.get_by_role("button", name="Pause").click()
        self.server.act(phone, ("favorites", "add", {"id": "while paused"}))
        await self.visit(page, "#/users")
        await self.visit(page, "#/live")
        await expect(page.get_by_text("Paused")).to_be_visible()
        await expect(rows).to_have_count(13)
        await page.get_by_role("button", name="Resume").click()
        await expect(rows).to_have_count(14)

    @limit(60)
    async def test_the_difference_of_an_entry_is_read_only_when_it_is_asked_for(self):
        ada, _ = example(self.server)
        page = await self.open()
        requests = []
        page.on("request", lambda request: requests.append(request.url))
        await page.locator("[role=row][data-index]", has_text="update photo:2").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text("Strokkur, erupting")
        self.assertFalse([url for url in requests if "at=" in url])
        await page.get_by_role("tab", name="Difference").click()
        change = page.locator(".difference .changed")
        await expect(change).to_contain_text("photo:2")
        await expect(change.locator(".side-old").first).to_contain_text("Strokkur geyser")
        await expect(change.locator(".side-new").first).to_contain_text("Strokkur, erupting")
        self.assertEqual(len([url for url in requests if "at=" in url]), 2)
        await page.get_by_role("tab", name="State before").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text("Strokkur geyser")

    @limit(60)
    async def test_after_the_store_was_replaced_live_shows_only_the_entries_of_the_new_one(self):
        self.requests_fail = True
        example(self.server)
        page = await self.open()
        rows = page.locator("[role=row][data-index]")
        await expect(rows.first).to_be_visible()
        self.server.end(signal.SIGKILL)
        for suffix in ["", "-wal", "-shm"]:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.server.data + suffix)
        self.server.start()
        _, phone = self.server.sign_up("bob@example.com", "Bob's phone")
        self.server.act(phone, ("favorites", "add", {"id": "of the new store"}))
        await expect(rows).to_have_count(1, timeout=40_000)
        await expect(rows.first).to_contain_text("of the new store")
        self.server.act(phone, ("favorites", "add", {"id": "and another"}))
        await expect(rows).to_have_count(2)

    @limit(60)
    async def test_a_link_to_an_entry_opens_it_although_many_others_came_after_it(self):
        _, phone = self.server.sign_up()
        for start in range(0, 1_500, 500):
            self.server.act(phone, *[("defaults", "set", {"key": f"key{number}", "value": number}) for number in range(start, start + 500)])
        page = await self.open()
        await expect(page.get_by_text("1,000 entries")).to_be_visible()
        await page.get_by_role("grid").evaluate("list => { list.scrollTop = list.scrollHeight }")
        await page.locator("[role=row][data-index='999']").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text("key500")
        address = await page.evaluate("location.hash")
        self.server.act(phone, *[("defaults", "set", {"key": f"key{number}", "value": 0}) for number in range(500)])
        other = await self.open(address)
        await expect(other.get_by_role("tabpanel")).to_contain_text("key500")

    @limit(60)
    async def test_the_state_before_is_found_across_a_restart_of_the_server(self):
        ada, phone = example(self.server)
        self.server.end()
        self.server.start()
        self.server.act(phone, ("favorites", "update", {"id": "photo:2", "title": "After the restart"}))
        page = await self.open()
        await page.locator("[role=row][data-index]").first.click()
        await page.get_by_role("tab", name="Difference").click()
        await expect(page.locator(".difference .changed .side-old").first).to_contain_text("Strokkur, erupting")
        await expect(page.locator(".difference .changed .side-new").first).to_contain_text("After the restart")

    @limit(60)
    async def test_devices_show_how_far_they_are_behind(self):
        ada, phone = example(self.server)
        page = await self.open(f"#/users/{ada}/devices")
        await expect(page.get_by_role("row", name=re.compile("Ada's tablet"))).to_contain_text("5 behind")
        await expect(page.get_by_role("row", name=re.compile("Ada's phone"))).to_contain_text("has not read changes yet")
        await page.get_by_role("button", name="End the session of Ada's tablet").click()
        await page.get_by_role("dialog").get_by_role("button", name="End the session").click()
        await expect(page.get_by_text("Ada's tablet")).to_have_count(0)
        self.assertEqual(len(self.server.send(f"/v1/admin/users/{ada}/sessions")["items"]), 1)

    @limit(60)
    async def test_time_travel_shows_each_revision_and_the_difference_of_any_two(self):
        ada, _ = example(self.server)
        page = await self.open(f"#/time/{ada}?collection=favorites&revision=7")
        place = page.locator(".place")
        await expect(place).to_contain_text("Revision 7 of 9")
        await expect(page.locator(".difference")).to_contain_text("Strokkur, erupting")
        await page.get_by_label("Compare with revision").fill("1")
        await expect(page.get_by_text("From revision 1 to 7")).to_be_visible()
        await expect(page.locator(".difference li")).to_have_count(3)
        await page.get_by_label("Compare with revision").fill("")
        await page.get_by_role("slider", name="Revision").focus()
        for _ in range(7):
            await page.keyboard.press("ArrowLeft")
        await expect(place).to_contain_text("Revision 0 of 9")
        await page.get_by_role("tab", name="State").click()
        await page.get_by_label("Speed").select_option("10")
        await page.get_by_role("button", name="Play").click()
        await expect(place).to_contain_text("Revision 9 of 9", timeout=10_000)
        await expect(page.get_by_role("tabpanel")).to_contain_text("Lofoten at dawn")
        self.assertIn("revision=9", page.url)

    @limit(60)
    async def test_the_copied_test_makes_the_same_state_again(self):
        import subprocess
        ada, _ = example(self.server)
        page = await self.open(f"#/time/{ada}")
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.get_by_role("button", name="Copy as test").click()
        await expect(page.get_by_text("Copied", exact=True)).to_be_visible()
        script = await page.evaluate("navigator.clipboard.readText()")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        made = json.loads(done.stdout.splitlines()[-1])["changesets"]
        original = self.server.send(f"/v1/admin/users/{ada}/changes")["changesets"]

        def content(changesets):
            return {
                item["collection"]: item.get("values") or [(row["id"], row.get("title"), row.get("data")) for row in item["items"]]
                for item in changesets
            }

        self.assertEqual(content(made), content(original))

    @limit(60)
    async def test_a_copied_command_has_the_variable_instead_of_the_token(self):
        ada, _ = example(self.server)
        page = await self.open(f"#/users/{ada}")
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.get_by_role("button", name="Copy as curl").first.click()
        await expect(page.get_by_text("Copied", exact=True)).to_be_visible()
        command = await page.evaluate("navigator.clipboard.readText()")
        self.assertIn("Bearer $LOCKSTEP_ADMIN_TOKEN", command)
        self.assertIn(f"/v1/admin/users/{ada}/favorites", command)
        self.assertNotIn(ADMINISTRATOR, command)

    @limit(60)
    async def test_an_action_is_run_dry_first_and_then_committed_on_the_state_that_was_shown(self):
        self.requests_fail = True
        ada, phone = example(self.server)
        page = await self.open(f"#/act/{ada}")
        commit = page.get_by_role("button", name="Commit")
        await page.get_by_label("id", exact=True).fill("photo:7")
        await page.get_by_label("title (optional)").fill("By the administrator")
        await expect(commit).to_be_disabled()
        await page.get_by_role("button", name="Dry run").click()
        await expect(page.get_by_text("This would happen")).to_be_visible()
        self.assertEqual(self.server.send(f"/v1/admin/users/{ada}")["revision"], 9)
        # A change in between makes the commit fail.
        self.server.act(phone, ("favorites", "add", {"id": "photo:8"}))
        await commit.click()
        await expect(page.get_by_text("The state has changed since the dry run")).to_be_visible()
        await expect(commit).to_be_disabled()
        await page.get_by_role("button", name="Dry run").click()
        await commit.click()
        await expect(page.get_by_text("Committed")).to_be_visible()
        last = self.server.send(f"/v1/admin/users/{ada}/journal")["entries"][-1]
        self.assertEqual((last["by"], last["action"]["payload"]["title"]), ("administrator", "By the administrator"))

    @limit(60)
    async def test_a_transaction_as_json_is_checked_by_the_server_and_shows_every_fault(self):
        self.requests_fail = True
        ada, _ = example(self.server)
        page = await self.open(f"#/act/{ada}?as=json")
        await page.get_by_label("Actions as JSON").fill("{")
        await page.get_by_role("button", name="Dry run").click()
        await expect(page.get_by_text("The transaction is not JSON")).to_be_visible()
        await page.get_by_label("Actions as JSON").fill('{"actions":[{"module":"favorites","type":"remove","payload":{"id":"photo:1"}},{"module":"favorites","type":"move","payload":{"id":"photo:1","index":0}}]}')
        await page.get_by_role("button", name="Dry run").click()
        await expect(page.get_by_text("The action with the index 1 failed")).to_be_visible()

    @limit(60)
    async def test_each_collection_shows_its_size_and_a_bar_for_each_known_quota(self):
        ada, phone = example(self.server)
        quota = {"elements": 4, "bytes": 2048}
        for name, kind in [("playlist", "list"), ("scores", "map")]:
            self.server.send(f"/v1/admin/collections/{name}", "PUT", {"kind": kind, "quota": quota})
        self.server.act(phone, ("playlist", "add", {"id": "s1", "data": {"song": "Aria"}}), ("scores", "set", {"key": "tetris", "value": 7}),
                        ("profile", "save", {"companyName": "Aurora", "position": "Chief"}))
        page = await self.open(f"#/users/{ada}")
        limits, bars = page.locator(".quotas"), page.locator(".quotas progress")
        shown = {
            "favorites": [r"Elements: \d+ of 10,000", r"Size: .+ of 16 MiB"],
            "playlist": [r"Elements: 1 of 4", r"Size: 1\d\d bytes of 2\.0 KiB"],
            # The key has six bytes and the value one.
            "scores": [r"Keys: 1 of 4", r"Size: 7 bytes of 2\.0 KiB"],
            "profile": [r"Keys: 2", r"Size: \d+ bytes"],
        }
        for name, texts in shown.items():
            await page.get_by_label("Collection").select_option(name)
            for text in texts:
                await expect(limits.get_by_text(re.compile(f"^{text}$"))).to_be_visible()
            await expect(bars).to_have_count(0 if name == "profile" else 2)
        await page.get_by_label("Collection").select_option("playlist")
        await expect(bars.first).to_have_attribute("max", "4")
        await expect(bars.last).to_have_attribute("max", "2048")

    @limit(60)
    async def test_the_form_offers_a_collection_that_was_declared_after_the_page_was_opened(self):
        self.requests_fail = True
        ada, _ = example(self.server)
        page = await self.open(f"#/act/{ada}")
        module = page.get_by_label("Module")
        offered = module.locator("option")
        await expect(offered.filter(has_text="playlist")).to_have_count(0)
        await page.get_by_label("id", exact=True).fill("photo:7")
        schema = {"type": "object", "required": ["song"], "properties": {"stars": {"type": "integer", "maximum": 5}}}
        self.server.send("/v1/admin/collections/playlist", "PUT", {"kind": "list", "schema": schema})
        self.server.send("/v1/admin/collections/scores", "PUT", {"kind": "map", "schema": {"type": "integer"}})
        await module.focus()
        await expect(offered.filter(has_text="playlist")).to_have_count(1)
        # The field keeps its text.
        await expect(page.get_by_label("id", exact=True)).to_have_value("photo:7")

        await module.select_option("playlist")
        await page.get_by_label("id", exact=True).fill("s1")
        await page.get_by_label("data", exact=True).fill('{"stars": 9}')
        dry = page.get_by_role("button", name="Dry run")
        await dry.click()
        await expect(page.get_by_text("/actions/0/payload/data/stars: It must be at most 5.")).to_be_visible()
        await expect(page.get_by_text("/actions/0/payload/data/song: It is missing.")).to_be_visible()
        await page.get_by_label("data", exact=True).fill('{"stars": 5, "song": "Aria"}')
        await dry.click()
        await expect(page.get_by_text("This would happen")).to_be_visible()
        await page.get_by_role("button", name="Commit").click()
        await expect(page.get_by_text("Committed")).to_be_visible()

        await module.select_option("scores")
        await page.get_by_label("key", exact=True).fill("level1")
        await page.get_by_label("value", exact=True).fill("7")
        await dry.click()
        await expect(page.get_by_text("This would happen")).to_be_visible()
        await page.get_by_role("button", name="Commit").click()
        await expect(page.get_by_text("Committed")).to_be_visible()
        user = f"/v1/admin/users/{ada}"
        self.assertEqual(self.server.send(f"{user}/playlist")["items"][0]["data"], {"stars": 5, "song": "Aria"})
        self.assertEqual(self.server.send(f"{user}/scores")["values"], {"level1": 7})

        # A changed declaration changes the form.
        self.server.send("/v1/admin/collections/scores", "PUT", {"kind": "map", "schema": {"type": "boolean"}})
        await page.get_by_label("key", exact=True).focus()
        await module.focus()
        await page.locator("label", has_text="value").locator("select").select_option("true")

    @limit(60)
    async def test_screens_show_their_state_as_it_changes(self):
        _, phone = example(self.server)
        opened = self.server.send("/v1/reactors/workingHistory", "POST", {}, phone)
        page = await self.open("#/screens")
        await expect(page.locator("[role=row][data-index]")).to_have_count(3)
        await page.locator("[role=row][data-index]").nth(2).click()
        panel = page.get_by_role("complementary", name="Screen")
        await expect(panel).to_contain_text("Analytical Engines")
        self.server.send(f"/v1/reactors/workingHistory/{opened['id']}/actions", "POST", {"type": "setCompanyName", "payload": {"value": "Difference Engines"}}, phone)
        await expect(panel).to_contain_text("Difference Engines", timeout=3_000)

    @limit(60)
    async def test_registered_defaults_are_saved_and_a_change_in_between_is_shown(self):
        self.requests_fail = True
        example(self.server)
        page = await self.open("#/registered")
        values = page.get_by_label("Values as JSON")
        await expect(values).to_have_value(re.compile('"volume": 5'))
        await values.fill('{"volume": 6}')
        await page.get_by_role("button", name="Save changes to standard").click()
        await expect(page.get_by_text("The change reaches every waiting client.")).to_be_visible()
        self.assertEqual(self.server.send("/v1/admin/registered/standard")["values"], {"volume": 6})
        self.server.send("/v1/admin/registered/standard", "PATCH", {"volume": 8})
        await values.fill('{"volume": 7}')
        await page.get_by_role("button", name="Save changes to standard").click()
        await expect(page.get_by_text("The values have changed since you read them")).to_be_visible()
        await expect(page.locator(".difference .changed")).to_contain_text("volume")
        await page.get_by_role("button", name="Replace them with mine").click()
        await expect(page.get_by_text("The change reaches every waiting client.")).to_be_visible()
        self.assertEqual(self.server.send("/v1/admin/registered/standard")["values"], {"volume": 7})

    @limit(90)
    async def test_an_administrator_disables_changes_and_erases_a_user(self):
        ada, phone = example(self.server)
        page = await self.open(f"#/users/{ada}/account")
        dialog = page.get_by_role("dialog")
        await page.get_by_role("button", name="Disable…").click()
        await page.keyboard.press("Escape")
        await expect(dialog).to_have_count(0)
        self.assertFalse(self.server.send(f"/v1/admin/users/{ada}")["disabled"])
        await page.get_by_role("button", name="Disable…").click()
        await dialog.get_by_role("button", name="Disable").click()
        await expect(page.get_by_text("disabled", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Enable…").click()
        await dialog.get_by_role("button", name="Enable").click()
        await expect(page.get_by_role("button", name="Disable…")).to_be_visible()
        await page.get_by_role("button", name="Change…").click()
        await dialog.get_by_label("New e-mail address").fill("lovelace@example.com")
        await dialog.get_by_role("button", name="Change").click()
        await expect(page.locator("h1")).to_contain_text("lovelace@example.com")
        await page.get_by_role("button", name="Reset…").click()
        await dialog.get_by_label("New password").fill("battery staple")
        await dialog.get_by_role("button", name="Reset").click()
        await expect(dialog).to_have_count(0)
        self.server.send("/v1/sessions", "POST", {"email": "lovelace@example.com", "password": "battery staple"}, token="")
        await page.get_by_role("button", name="Erase…").click()
        await dialog.get_by_label("Type the e-mail address to confirm").fill("ada@example.com")
        await dialog.get_by_role("button", name="Erase for ever").click()
        await expect(dialog.get_by_text("This is not the address of the user")).to_be_visible()
        await dialog.get_by_label("Type the e-mail address to confirm").fill("lovelace@example.com")
        await dialog.get_by_role("button", name="Erase for ever").click()
        await expect(page.locator("h1")).to_have_text("Users")
        self.assertEqual([user["email"] for user in self.server.send("/v1/admin/users")["items"]], ["grace@example.com"])

    @limit(60)
    async def test_the_list_of_users_has_pages(self):
        for number in range(105):
            self.server.send("/v1/admin/users", "POST", {"email": f"user{number:03}@example.com", "password": "a long password"})
        page = await self.open("#/users?prefix=user")
        await expect(page.get_by_text("100 users on this page")).to_be_visible()
        await page.get_by_role("button", name="Next page").click()
        await expect(page.get_by_text("5 users on this page")).to_be_visible()
        await page.reload()
        await expect(page.get_by_text("5 users on this page")).to_be_visible()
        await page.get_by_role("button", name="First page").click()
        await expect(page.get_by_text("100 users on this page")).to_be_visible()

    @limit(60)
    async def test_health_draws_figures_and_lists_waits_and_settings_without_secrets(self):
        _, phone = example(self.server)
        page = await self.open("#/health")
        await expect(page.get_by_role("img", name=re.compile("^Memory: now .*MiB"))).to_be_visible()
        await expect(page.get_by_text("maxFavorites", exact=False).first).to_be_visible()
        self.assertNotIn(ADMINISTRATOR, await page.content())
        await expect(page.get_by_role("img", name=re.compile("^Requests: now"))).to_be_visible(timeout=12_000)
