"""Tokens, and content that an attacker chose."""

import http.server
import os
import re
import subprocess
import urllib.parse

from playwright.async_api import expect

from support import ADMINISTRATOR, MARKUP, InspectorTest, example, limit

RIGHT_TO_LEFT = "\u05e9\u05dc\u05d5\u05dd \u202eevil\u202c \u0627\u0644\u0639\u0631\u0628\u064a\u0629"
CONTROLS = "bell \u0007, escape \u001b[31m, picture \u2400, zero width \u200b"
LONG_ID = "\U0001f600" * 64


class TokenTests(InspectorTest):
    requests_fail = True

    @limit(30)
    async def test_without_a_token_there_is_nothing_but_the_form(self):
        page = await self.page()
        requests = []
        page.on("request", lambda request: requests.append(request.url))
        await page.goto(f"{self.server.url}/inspector/")
        await expect(page.get_by_label("Token")).to_be_focused()
        self.assertEqual(await page.locator("nav, table, [role=grid]").count(), 0)
        self.assertFalse([url for url in requests if "/v1/" in url or "/metrics" in url])
        await self.check(page)

    @limit(30)
    async def test_a_wrong_token_is_refused_and_the_form_stays(self):
        page = await self.page()
        await self.sign_in(page, token="wrong")
        await expect(page.get_by_role("alert")).to_contain_text("The server does not accept this token")
        await expect(page.get_by_label("Token")).to_be_focused()
        self.assertIsNone(await page.evaluate("sessionStorage.getItem('lockstep-inspector-token')"))
        await self.check(page)

    @limit(30)
    async def test_the_token_of_a_user_is_refused_with_an_explanation(self):
        _, phone = self.server.sign_up()
        page = await self.page()
        await self.sign_in(page, token=phone)
        await expect(page.get_by_role("alert")).to_contain_text("This is a user's token")

    @limit(30)
    async def test_a_service_token_without_the_scope_read_is_refused_with_its_name(self):
        made = self.server.send("/v1/admin/tokens", "POST", {"name": "writer", "scopes": ["write"]})
        page = await self.page()
        await self.sign_in(page, token=made["token"])
        await expect(page.get_by_role("alert")).to_contain_text("needs the scope read")

    @limit(60)
    async def test_a_service_token_with_the_scope_read_looks_and_cannot_change(self):
        ada, _ = example(self.server)
        made = self.server.send("/v1/admin/tokens", "POST", {"name": "reader", "scopes": ["read"]})
        page = await self.page()
        await self.sign_in(page, f"#/act/{ada}", token=made["token"])
        await page.get_by_label("id", exact=True).fill("photo:7")
        await page.get_by_role("button", name="Dry run").click()
        await expect(page.get_by_text("This would happen")).to_be_visible()
        await page.get_by_role("button", name="Commit").click()
        await expect(page.get_by_role("alert")).to_contain_text("needs the scope write")
        self.assertEqual(self.server.send(f"/v1/admin/users/{ada}")["revision"], 9)

    @limit(60)
    async def test_a_token_that_is_withdrawn_ends_the_session_and_another_continues_on_the_same_page(self):
        ada, _ = example(self.server)
        made = self.server.send("/v1/admin/tokens", "POST", {"name": "reader", "scopes": ["read"]})
        page = await self.page()
        await self.sign_in(page, "#/screens", token=made["token"])
        await expect(page.locator("h1")).to_have_text("Screens")
        self.server.send(f"/v1/admin/tokens/{made['id']}", "DELETE")
        await expect(page.get_by_text("The server no longer accepts the token.")).to_be_visible()
        self.assertEqual(await page.locator("nav, [role=grid]").count(), 0)
        await page.get_by_label("Token").fill(ADMINISTRATOR)
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("Screens")

    @limit(60)
    async def test_after_too_many_wrong_tokens_the_page_says_when_to_try_again(self):
        page = await self.page()
        await page.goto(f"{self.server.url}/inspector/")
        alert = page.get_by_role("alert")
        for number in range(30):
            await page.get_by_label("Token").fill(f"wrong {number}")
            async with page.expect_response("**/v1/admin/status") as refused:
                await page.keyboard.press("Enter")
            await expect(page.get_by_role("button", name="Sign in")).to_be_enabled()
            if (await refused.value).status == 429:
                break
        await expect(alert).to_contain_text("Too many requests")
        await expect(alert).to_contain_text(re.compile(r"Try again in \d+ seconds, at \d\d:\d\d:\d\d"))
        await page.get_by_label("Token").fill(ADMINISTRATOR)
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("Live")

    @limit(60)
    async def test_a_stolen_address_of_a_page_shows_nothing_in_another_browser(self):
        ada, _ = example(self.server)
        page = await self.open(f"#/users/{ada}?element=photo:1")
        await expect(page.locator("aside.details")).to_be_visible()
        stolen = page.url
        self.assertNotIn(ADMINISTRATOR, stolen)
        other = await self.page()
        await other.goto(stolen)
        await expect(other.get_by_label("Token")).to_be_visible()
        self.assertNotIn("Tromsø", await other.content())
        self.assertNotIn("ada@", await other.content())

    @limit(30)
    async def test_the_token_is_in_the_storage_of_the_tab_only_and_signing_out_forgets_it(self):
        page = await self.open()
        kept = await page.evaluate("""() => ({
            session: Object.values(sessionStorage), local: localStorage.length, cookies: document.cookie
        })""")
        self.assertEqual((kept["local"], kept["cookies"]), (0, ""))
        self.assertIn(ADMINISTRATOR, kept["session"])
        self.assertNotIn(ADMINISTRATOR, await page.content())
        second = await page.context.new_page()
        await second.goto(f"{self.server.url}/inspector/")
        await expect(second.get_by_label("Token")).to_be_visible()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("Token")).to_be_visible()
        self.assertNotIn(ADMINISTRATOR, await page.evaluate("Object.values(sessionStorage)"))

    @limit(60)
    async def test_while_the_server_is_away_the_page_says_so_and_continues_after_it(self):
        _, phone = example(self.server)
        page = await self.open()
        rows = page.locator("[role=row][data-index]")
        await expect(rows).to_have_count(13)
        self.server.end()
        await expect(page.get_by_text("No connection, next attempt in")).to_be_visible()
        self.server.start()
        self.server.act(phone, ("favorites", "add", {"id": "after"}))
        await expect(rows).to_have_count(14, timeout=20_000)
        await expect(rows.first).to_contain_text("add after")


class PolicyTests(InspectorTest):
    @limit(30)
    async def test_the_policy_refuses_markup_from_text_scripts_of_the_document_and_other_servers(self):
        page = await self.open()
        refused = await page.evaluate("""async () => {
            const attempt = async act => { try { await act(); return 'done' } catch (error) { return error.name } }
            const reports = []
            addEventListener('securitypolicyviolation', event => reports.push(event.effectiveDirective))
            const results = [
                await attempt(() => { document.body.innerHTML = '<p>markup</p>' }),
                await attempt(() => { trustedTypes.createPolicy('own', {}) }),
                await attempt(() => fetch('http://localhost:1/')),
                await attempt(() => { document.createElement('div').setAttribute('style', 'color: red') })
            ]
            const script = document.createElement('script')
            const text = await attempt(() => { script.text = 'globalThis.ran = true' })
            await new Promise(resolve => setTimeout(resolve, 100))
            return { results, text, ran: globalThis.ran ?? null, reports }
        }""")
        self.assertEqual(refused["results"], ["TypeError", "TypeError", "TypeError", "done"])
        self.assertEqual((refused["text"], refused["ran"]), ("TypeError", None))
        self.assertLessEqual({"require-trusted-types-for", "trusted-types", "connect-src"}, set(refused["reports"]))
        self.assertTrue([message for message in self.messages if "CSP: " in message])
        self.messages.clear()

    @limit(30)
    async def test_no_page_of_another_site_can_show_the_inspector_in_a_frame(self):
        page = await self.page()
        # A page of another origin, because it has another port.
        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        text = f"<!doctype html><title>Other</title><iframe src='{self.server.url}/inspector/'></iframe>"
        await page.route(f"http://127.0.0.1:{other.server_port}/**", lambda route: route.fulfill(body=text, content_type="text/html"))
        await page.goto(f"http://127.0.0.1:{other.server_port}/")
        # Chromium shows an error instead of the page.
        await self.eventually(lambda: self.has_refused(page))
        self.assertEqual(await page.frames[1].locator("input").count(), 0)
        other.server_close()
        self.messages.clear()

    async def has_refused(self, page):
        return len(page.frames) == 2 and page.frames[1].url.startswith("chrome-error:")


class HostileContentTests(InspectorTest):
    @limit(120)
    async def test_hostile_content_is_shown_as_text_on_every_page(self):
        ada, phone = self.server.sign_up("ada@example.com", MARKUP[:100])
        self.server.act(
            phone,
            ("favorites", "add", {"id": MARKUP, "title": MARKUP, "data": {MARKUP: MARKUP, "__proto__": {"polluted": True}}}),
            ("favorites", "add", {"id": LONG_ID, "title": RIGHT_TO_LEFT, "data": CONTROLS}),
            ("favorites", "add", {"id": RIGHT_TO_LEFT.replace("\u202e", "").replace("\u202c", ""), "data": "x" * 16_000}),
            ("defaults", "set", {"key": "__proto__", "value": {"polluted": True}}),
            ("defaults", "set", {"key": MARKUP, "value": MARKUP}),
            ("defaults", "set", {"key": "big", "value": 9007199254740993}),
        )
        self.server.act(phone, ("favorites", "update", {"id": MARKUP, "title": "changed " + MARKUP}), ("defaults", "set", {"key": "__proto__", "value": 2}))
        self.server.send("/v1/profile", "PATCH", {"companyName": MARKUP}, phone)
        self.server.send("/v1/admin/registered/standard", "PUT", {MARKUP: RIGHT_TO_LEFT})
        self.server.send("/v1/reactors/workingHistory", "POST", {}, phone)
        page = await self.open()
        for address in [
            "#/live", f"#/live?text={urllib.parse.quote(MARKUP)}", "#/users", f"#/users?prefix={urllib.parse.quote(MARKUP)}", f"#/users/{ada}",
            f"#/users/{ada}?collection=defaults/standard", f"#/users/{ada}?collection=profile", f"#/users/{ada}/devices",
            f"#/users/{ada}/journal", f"#/time/{ada}?revision=1", f"#/time/{ada}?revision=2&view=state",
            f"#/time/{ada}?revision=2&view=action", f"#/time/{ada}?revision=2&collection=defaults/standard", "#/screens", "#/registered",
        ]:
            await self.visit(page, address)
            await page.wait_for_timeout(150)
            self.assertEqual(await page.locator("main img, main script").count(), 0, address)
            self.assertNotEqual(await page.title(), "broken")
            self.assertIsNone(await page.evaluate("({}).polluted ?? null"))
            await self.check(page)
            self.assertNotRegex(await page.locator("main").inner_text(), "[\u0007\u001b\u200b\u202e]", address)

    @limit(60)
    async def test_each_element_shows_its_whole_text_with_escapes_for_what_cannot_be_seen(self):
        ada, phone = self.server.sign_up()
        self.server.act(
            phone,
            ("favorites", "add", {"id": "a", "title": MARKUP, "data": {"__proto__": {"kept": True}, "number": 9007199254740993}}),
            ("favorites", "add", {"id": LONG_ID, "title": RIGHT_TO_LEFT, "data": CONTROLS}),
            ("favorites", "add", {"id": "long", "data": "y" * 16_000}),
        )
        page = await self.open(f"#/users/{ada}")
        rows = page.locator("[role=row][data-index]")
        details = page.locator("aside.details")
        await rows.nth(0).click()
        await expect(details).to_contain_text("onerror=\\\"document.title='broken'\\\"")
        await expect(details).to_contain_text('"__proto__"')
        await expect(details).to_contain_text("9007199254740993")
        await rows.nth(1).click()
        await expect(details.locator("h2")).to_have_text(LONG_ID)
        await expect(details).to_contain_text("\\u202eevil")
        await expect(details).to_contain_text("\\u001b[31m, picture \u2400, zero width \\u200b")
        await rows.nth(2).click()
        await details.get_by_role("button", name="Show all 16,000 characters").click()
        self.assertGreater(len(await details.inner_text()), 16_000)

    @limit(60)
    async def test_a_name_such_as_proto_is_compared_like_any_other(self):
        ada, phone = self.server.sign_up()
        self.server.act(phone, ("defaults", "set", {"key": "__proto__", "value": {"a": 1}}))
        self.server.act(phone, ("defaults", "set", {"key": "__proto__", "value": {"a": 2}}), ("defaults", "set", {"key": "constructor", "value": 3}))
        page = await self.open(f"#/time/{ada}?revision=2&collection=defaults/standard")
        await expect(page.locator(".difference .changed")).to_contain_text("__proto__")
        await expect(page.locator(".difference .added")).to_contain_text("constructor")


class DotTests(InspectorTest):
    @limit(60)
    async def test_names_of_dots_never_lead_to_another_route(self):
        ada, token = self.server.sign_up()
        names = [".", "..", "../.."]
        for name in names:
            self.server.act(token, ("favorites", "add", {"id": name, "title": f"Title {name}"}))
            self.server.act(token, ("defaults", "set", {"key": name, "value": "standard"}))
        for suite in [".", ".."]:
            for name in names:
                self.server.act(token, ("defaults", "set", {"suite": suite, "key": name, "value": f"in {suite}"}))
        page = await self.open()
        paths = set()
        page.on("request", lambda request: paths.add(urllib.parse.urlsplit(request.url).path))
        for suite in ["standard", ".", ".."]:
            for name in names:
                place = urllib.parse.urlencode({"collection": f"defaults/{suite}", "element": name})
                await self.visit(page, f"#/users/{ada}?{place}")
                await expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
                await expect(page.get_by_text("Not available for this name", exact=True)).to_have_count(0 if suite == "standard" else 1)
        for name in names:
            await self.visit(page, f"#/users/{ada}?" + urllib.parse.urlencode({"collection": "favorites", "element": name}))
            await expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        for suite in [".", ".."]:
            await self.visit(page, f"#/time/{ada}?" + urllib.parse.urlencode({"collection": f"defaults/{suite}"}))
            await expect(page.get_by_text("Browsers resolve the names")).to_be_visible()
            await self.visit(page, f"#/registered?suite={suite}")
            await expect(page.get_by_text("Not available for this name", exact=True)).to_be_visible()
        for address in ["#/users/..", "#/users/%2e%2e/devices", "#/time/..", "#/act/.."]:
            await self.visit(page, address)
            await expect(page.get_by_text("Not available for this name", exact=True)).to_be_visible()
        user = f"/v1/admin/users/{ada}"
        known = {
            "/metrics", "/v1/reactors", "/v1/admin/status", "/v1/admin/journal", "/v1/admin/collections", user, f"{user}/changes", f"{user}/defaults",
            f"{user}/defaults/standard", f"{user}/journal", f"{user}/sessions", f"{user}/favorites",
        }
        self.assertEqual(paths - known, set())

    @limit(30)
    async def test_a_path_with_dots_is_copied_as_a_command_that_works(self):
        ada, token = self.server.sign_up()
        self.server.act(token, ("defaults", "set", {"suite": "..", "key": "..", "value": 1}))
        page = await self.open()
        command = await page.evaluate(
            "user => import('/inspector/server.js').then(server => server.curl(server.collectionPath(user, 'defaults/..')))", ada
        )
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "LOCKSTEP_ADMIN_TOKEN": ADMINISTRATOR},
        )
        self.assertIn('"values":{"..":1}', done.stdout, command)
