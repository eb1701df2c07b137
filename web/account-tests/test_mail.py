import asyncio

from playwright.async_api import expect

from support import AccountTest, MailServer, limit

EMAIL = "ada@example.com"


class MailTests(AccountTest):
    """The way of a user from a request to the mail, its page, and the login."""

    def make_server(self):
        return MailServer()

    async def ask(self, path, method="POST", body=None, token=None):
        return await asyncio.to_thread(self.server.send, path, method, body, token)

    async def follow(self, link, locale="en-GB"):
        page = await (await self.new_context(locale=locale)).new_page()
        await page.goto(link)
        return page

    @limit(60)
    async def test_a_forgotten_password_is_reset_by_mail(self):
        await self.ask("/v1/users", body={"email": EMAIL, "password": "correct horse"})
        await self.ask("/v1/password-resets", body={"email": EMAIL})
        recipient, message = await asyncio.to_thread(self.server.mail, 1)
        self.assertEqual(recipient, EMAIL)
        self.assertEqual(message["From"], "Notes <notes@example.com>")
        page = await self.follow(self.server.link(1))
        self.assertEqual(page.url, f"{self.server.url}/account/reset")
        await page.get_by_label("New password").fill("battery staple")
        await page.get_by_role("button", name="Set the password").click()
        await expect(page.get_by_role("heading", name="Your password is set")).to_be_visible()
        entered = await self.ask("/v1/sessions", body={"email": EMAIL, "password": "battery staple"})
        self.assertTrue(entered["user"]["emailVerified"])
        page = await self.follow(self.server.link(1))
        await page.get_by_label("New password").fill("another password")
        await page.get_by_role("button", name="Set the password").click()
        await expect(page.get_by_role("alert")).to_contain_text("This link no longer works.")
        await self.ask("/v1/sessions", body={"email": EMAIL, "password": "battery staple"})

    @limit(60)
    async def test_a_refused_password_shows_the_rules_of_the_server(self):
        await self.ask("/v1/users", body={"email": EMAIL, "password": "correct horse"})
        await self.ask("/v1/password-resets", body={"email": EMAIL})
        page = await self.follow(await asyncio.to_thread(self.server.link, 1))
        await page.get_by_label("New password").fill("short")
        await page.get_by_role("button", name="Set the password").click()
        await expect(page.get_by_role("listitem")).to_have_text("The password is shorter than 8 characters.")
        await page.get_by_label("New password").fill("long enough")
        await page.get_by_role("button", name="Set the password").click()
        await expect(page.get_by_role("heading", name="Your password is set")).to_be_visible()

    @limit(60)
    async def test_a_new_address_is_confirmed_and_the_old_one_is_told(self):
        entered = await self.ask("/v1/users", body={"email": EMAIL, "password": "correct horse"})
        token = entered["token"]
        await self.ask("/v1/defaults/standard/language", "PUT", "de", token)
        await self.ask("/v1/me/email", "PUT", {"email": "new@example.com", "password": "correct horse"}, token)
        recipient, message = await asyncio.to_thread(self.server.mail, 1)
        self.assertEqual((recipient, message["Content-Language"]), ("new@example.com", "de"))
        page = await self.follow(self.server.link(1), "de-AT")
        await page.get_by_role("button").click()
        await expect(page.locator("h1.done")).to_be_visible()
        recipient, message = await asyncio.to_thread(self.server.mail, 2)
        self.assertEqual((recipient, message["Content-Language"]), (EMAIL, "de"))
        account = await self.ask("/v1/me", "GET", token=token)
        self.assertEqual((account["email"], account["emailVerified"]), ("new@example.com", True))
