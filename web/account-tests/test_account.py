import asyncio

from playwright.async_api import expect

from support import MARKUP, TOKEN, AccountTest, Server, limit

HEADINGS = {
    "en": "Choose a new password", "ja": "新しいパスワードの設定", "de": "Neues Passwort wählen",
    "fr": "Choisir un nouveau mot de passe", "es": "Elegir una contraseña nueva",
}


class ResetTests(AccountTest):
    async def submit(self, page, password="correct horse"):
        await page.get_by_label("New password").fill(password)
        await page.get_by_role("button", name="Set the password").click()

    @limit(30)
    async def test_a_new_password_is_sent_with_the_token_and_the_page_says_so(self):
        page = await self.page()
        await expect(page.get_by_role("heading", name="Choose a new password")).to_be_visible()
        await self.submit(page, "pässword ✓")
        heading = page.get_by_role("heading", name="Your password is set")
        await expect(heading).to_be_focused()
        await expect(page).to_have_title("Your password is set")
        await expect(page.locator("form")).to_have_count(0)
        self.assertEqual(self.server.changes, [("PUT", f"/v1/password-resets/{TOKEN}", {"password": "pässword ✓"})])

    @limit(30)
    async def test_the_token_leaves_the_address_bar_and_reaches_the_server_only_in_the_request(self):
        page = await self.page()
        await expect(page.get_by_label("New password")).to_be_visible()
        self.assertEqual(page.url, f"{self.server.url}/account/reset")
        self.assertEqual(await page.evaluate("history.length"), 2)
        self.assertNotIn(TOKEN, await page.content())
        await self.submit(page)
        await expect(page.get_by_role("heading", name="Your password is set")).to_be_visible()
        for method, path, fields, body in self.server.requests:
            self.assertIsNone(fields.get("Referer"))
            self.assertIsNone(fields.get("Cookie"))
            self.assertEqual(TOKEN in path, method == "PUT")

    @limit(30)
    async def test_loading_the_page_changes_nothing(self):
        for path in ["reset", "confirm"]:
            page = await self.page(path)
            await expect(page.get_by_role("button")).to_be_visible()
        self.assertEqual(self.server.changes, [])

    @limit(30)
    async def test_a_refused_password_shows_the_rules_and_can_be_corrected(self):
        self.server.response = (422, {
            "title": "Invalid", "detail": "The body is invalid.",
            "errors": [{"pointer": "/password", "detail": "The password is shorter than 8 characters."}, {"pointer": "/password", "detail": MARKUP}],
        })
        page = await self.page()
        await self.submit(page, "short")
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("The server does not accept this password:")
        await expect(alert.get_by_role("listitem")).to_have_text(["The password is shorter than 8 characters.", MARKUP])
        field = page.get_by_label("New password")
        await expect(field).to_be_focused()
        await expect(field).to_have_attribute("aria-invalid", "true")
        await self.check(page)
        self.server.response = (204,)
        await self.submit(page, "long enough")
        await expect(page.get_by_role("heading", name="Your password is set")).to_be_visible()
        self.assertEqual(len(self.server.changes), 2)

    @limit(30)
    async def test_a_used_or_wrong_token_is_explained(self):
        for fragment in ["#token=other", "#token=..%2F..%2Fhealthz", "#token=%3Cscript%3E"]:
            page = await self.page(fragment=fragment)
            await self.submit(page)
            await expect(page.get_by_role("alert")).to_contain_text("This link no longer works.")
        self.assertEqual(self.server.changes[1][1], "/v1/password-resets/..%2F..%2Fhealthz")

    @limit(30)
    async def test_other_failures_show_the_detail_of_the_server(self):
        page = await self.page()
        for response, words in [
            ((429, {"detail": "x"}, {"Retry-After": "60"}), "There were too many attempts."),
            ((503, {"detail": "The server is overloaded."}), "The server is overloaded."),
            ((500, b"<h1>Bad gateway</h1>"), "That did not work. Try again later."),
            ((422, {"errors": "none", "detail": 7}), "That did not work. Try again later."),
            ((422, {"errors": [None, {"detail": 7}], "detail": MARKUP}), MARKUP),
            ((400, b"null"), "That did not work. Try again later."),
        ]:
            self.server.response = response
            await self.submit(page)
            await expect(page.get_by_role("alert")).to_contain_text(words)
        await expect(page).to_have_title("Choose a new password")

    @limit(30)
    async def test_a_server_that_cannot_be_reached_is_explained(self):
        page = await self.page()
        await expect(page.get_by_label("New password")).to_be_visible()
        await asyncio.to_thread(self.server.end)
        await self.submit(page)
        await expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")

    @limit(30)
    async def test_a_redirect_is_not_followed_with_the_password(self):
        self.server.response = (307, b"", {"Location": "/v1/elsewhere"})
        page = await self.page()
        await self.submit(page)
        await expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached.")
        self.assertEqual(len(self.server.changes), 1)

    @limit(30)
    async def test_a_second_press_while_the_request_runs_sends_nothing(self):
        self.server.gate.clear()
        page = await self.page()
        await self.submit(page)
        button = page.get_by_role("button", name="Please wait…")
        await expect(button).to_have_attribute("aria-disabled", "true")
        await button.click(force=True)
        await page.get_by_label("New password").press("Enter")
        self.server.gate.set()
        await expect(page.get_by_role("heading", name="Your password is set")).to_be_visible()
        self.assertEqual(len(self.server.changes), 1)

    @limit(30)
    async def test_an_empty_password_is_not_sent(self):
        page = await self.page()
        await page.get_by_role("button").click()
        await expect(page.get_by_label("New password")).to_be_focused()
        self.assertEqual(self.server.changes, [])

    @limit(30)
    async def test_the_password_can_be_shown(self):
        page = await self.page()
        field = page.get_by_label("New password")
        await expect(field).to_have_attribute("type", "password")
        await expect(field).to_have_attribute("autocomplete", "new-password")
        await page.get_by_label("Show the password").check()
        await expect(field).to_have_attribute("type", "text")

    @limit(30)
    async def test_without_a_token_the_page_says_what_to_do(self):
        for fragment in ["", "#", "#token=", "#other=x"]:
            for path in ["reset", "confirm"]:
                page = await self.page(path, fragment)
                await expect(page.get_by_role("heading", name="This link is not complete")).to_be_visible()
                await expect(page.get_by_role("button")).to_have_count(0)
        await self.check(page)

    @limit(30)
    async def test_a_second_link_in_the_same_tab_is_used(self):
        page = await self.page(fragment="#token=old")
        await expect(page.get_by_label("New password")).to_be_visible()
        await page.evaluate(f"location.hash = '#token={TOKEN}'")
        await expect(page).to_have_url(f"{self.server.url}/account/reset")
        await self.submit(page)
        await expect(page.get_by_role("heading", name="Your password is set")).to_be_visible()


class ConfirmTests(AccountTest):
    @limit(30)
    async def test_the_button_confirms_the_address(self):
        page = await self.page("confirm")
        await page.get_by_role("button", name="Confirm this address").click()
        await expect(page.get_by_role("heading", name="Your address is confirmed")).to_be_focused()
        self.assertEqual(self.server.changes, [("POST", f"/v1/email-proofs/{TOKEN}", None)])
        await self.check(page)

    @limit(30)
    async def test_a_used_token_is_explained(self):
        page = await self.page("confirm", "#token=used")
        await page.get_by_role("button").click()
        await expect(page.get_by_role("alert")).to_contain_text("This link no longer works.")
        await expect(page.get_by_role("button", name="Confirm this address")).to_be_enabled()


class PrefixTests(AccountTest):
    def make_server(self):
        return Server("/state/notes")

    @limit(30)
    async def test_the_pages_work_below_a_path_of_a_proxy(self):
        page = await self.page("confirm")
        await page.get_by_role("button").click()
        await expect(page.get_by_role("heading", name="Your address is confirmed")).to_be_visible()
        self.assertEqual(self.server.changes, [("POST", f"/state/notes/v1/email-proofs/{TOKEN}", None)])


class EveryPageTests(AccountTest):
    async def check_all(self, **options):
        for locale in HEADINGS:
            for path in ["reset", "confirm"]:
                page = await self.page(path, locale=locale, **options)
                await expect(page.get_by_role("button")).to_be_visible()
                await self.check(page)
                await page.get_by_role("button").press("Tab")

    @limit(120)
    async def test_every_page_is_accessible_and_fits_in_light_on_a_wide_screen(self):
        await self.check_all(color_scheme="light")

    @limit(120)
    async def test_every_page_is_accessible_and_fits_in_dark_on_a_phone(self):
        await self.check_all(color_scheme="dark", viewport={"width": 320, "height": 568})

    @limit(120)
    async def test_the_language_is_the_browsers(self):
        for locale, heading in {**HEADINGS, "de-AT": HEADINGS["de"], "it": HEADINGS["en"]}.items():
            page = await self.page(locale=locale)
            await expect(page.get_by_role("heading")).to_have_text(heading)
            language = locale[:2] if locale[:2] in HEADINGS else "en"
            await expect(page.locator("html")).to_have_attribute("lang", language)
            await expect(page).to_have_title(heading)

    @limit(30)
    async def test_the_keyboard_alone_sets_a_password(self):
        page = await self.page()
        await expect(page.get_by_role("button")).to_be_visible()
        await page.keyboard.press("Tab")
        await page.keyboard.type("correct horse")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Your password is set")).to_be_visible()

    @limit(30)
    async def test_no_other_site_can_show_the_page_in_a_frame(self):
        outside = Server()
        self.addCleanup(outside.remove)
        page = await self.page()
        context = await self.browser.new_context()
        other = await context.new_page()
        await other.goto(f"{outside.url}/nothing")
        await other.set_content(f"<iframe src='{self.server.url}/account/reset'></iframe>")
        await other.wait_for_timeout(300)
        self.assertEqual(await other.frame_locator("iframe").locator("form").count(), 0)
        await expect(page.get_by_role("button")).to_be_visible()
