"""Lost connections, servers and sessions."""

import json
import os
import shutil
import signal

from support import BrowserTest, limit


class ConnectionTests(BrowserTest):
    requests_fail = True

    def entries(self):
        """The user's journal, which has one entry for each write that was applied."""
        token, entries, since = self.outside(), [], ""
        while page := self.server.send(f"/v1/journal?limit=100{since}", token=token)["entries"]:
            entries += page
            since = f"&since={page[-1]['cursor']}"
        return entries

    async def three_writes(self, page):
        await page.evaluate("""async () => {
            const favorite = favorites.put('offline', { title: 'Offline' })
            const writes = [favorite, settings.increment('opened', 2), settings.set('theme', 'dark')]
            await Promise.all(writes.map(write => write.saved))
        }""")
        shown = await page.evaluate("[ids(), settings.value, lockstep.state.pending]")
        self.assertEqual(shown, ["offline", {"opened": 2, "theme": "dark"}, 3])

    def check_three_writes(self):
        self.assertEqual([entry["action"]["type"] for entry in self.entries()], ["add", "increment", "set"])
        self.assertEqual(self.server.send("/v1/defaults/standard", token=self.outside())["values"], {"opened": 2, "theme": "dark"})

    @limit(240)
    async def test_writes_without_a_network_are_shown_at_once_and_arrive_once(self):
        device = await self.device()
        page = await self.user(device)
        await device.set_offline(True)
        await self.three_writes(page)
        await self.state(page, "offline")
        self.assertEqual(self.entries(), [])
        await device.set_offline(False)
        await self.idle(page)
        self.check_three_writes()

    @limit(240)
    async def test_writes_without_a_network_survive_a_reload(self):
        device = await self.device()
        page = await self.user(device)
        await page.evaluate("favorites.put('before').confirmed")
        await page.evaluate("favorites.remove('before').confirmed")
        await device.route(self.server.url + "/**", lambda route: route.abort())
        await self.three_writes(page)
        await page.reload()
        await self.until(page, "globalThis.isLoaded && favorites.isReady && ids() === 'offline'")
        self.assertEqual(await page.evaluate("[settings.get('opened'), settings.get('theme'), lockstep.state.pending]"), [2, "dark", 3])
        await self.state(page, "offline")
        await device.unroute(self.server.url + "/**")
        await self.idle(page)
        self.assertEqual([entry["action"]["type"] for entry in self.entries()], ["add", "remove", "add", "increment", "set"])

    @limit(240)
    async def test_writes_whose_responses_are_lost_arrive_once(self):
        device = await self.device()
        page = await self.user(device)
        lost = []

        async def lose(route):
            lost.append(await route.fetch())
            await route.abort()

        await device.route("**/v1/actions", lose)
        await page.evaluate("settings.increment('opened', 2).saved")
        await self.state(page, "offline")
        self.assertEqual(lost[0].status, 200)
        await device.unroute("**/v1/actions")
        await self.idle(page)
        self.assertEqual(len(self.entries()), 1)
        self.assertEqual(await page.evaluate("settings.get('opened')"), 2)

    @limit(240)
    async def test_the_client_continues_after_the_server_was_killed(self):
        page = await self.user(await self.device())
        self.server.end(signal.SIGKILL)
        await self.state(page, "offline")
        await self.three_writes(page)
        self.server.start()
        await self.idle(page)
        self.check_three_writes()
        names = await page.evaluate("states")
        self.assertEqual(list(dict.fromkeys(names[names.index("offline"):])), ["offline", "connecting", "live"])

    @limit(240)
    async def test_a_server_that_is_killed_during_writes_gets_each_of_them_once(self):
        page = await self.user(await self.device())
        await page.evaluate("""() => {
            globalThis.timer = setInterval(() => settings.increment('count', 1), 5)
        }""")
        for _ in range(3):
            await self.until(page, "count => settings.get('count', 0) > count + 30", await page.evaluate("settings.get('count', 0)"))
            self.server.end(signal.SIGKILL)
            self.server.start()
            await self.live(page)
        await page.evaluate("clearInterval(timer)")
        await self.idle(page)
        count = await page.evaluate("settings.get('count')")
        self.assertEqual(len(self.entries()), count)
        self.assertEqual(self.server.send("/v1/defaults/standard", token=self.outside())["values"], {"count": count})

    def copy_store(self):
        """Stops the server, copies its store, and starts it again."""
        self.server.end()
        for name in os.listdir(self.server.folder):
            shutil.copy(os.path.join(self.server.folder, name), os.path.join(self.server.folder, f"copy of {name}"))
        self.server.start()

    def restore_store(self):
        """Kills the server, puts the copy back, and starts it again."""
        self.server.end(signal.SIGKILL)
        names = os.listdir(self.server.folder)
        for name in names:
            if not name.startswith("copy of "):
                os.remove(os.path.join(self.server.folder, name))
        for name in names:
            if name.startswith("copy of "):
                os.rename(os.path.join(self.server.folder, name), os.path.join(self.server.folder, name.removeprefix("copy of ")))
        self.server.start()

    @limit(240)
    async def test_after_an_old_copy_is_restored_the_view_is_the_servers_and_the_outbox_arrives(self):
        page = await self.user(await self.device())
        await page.evaluate("favorites.put('old', { title: 'Old' }).confirmed")
        self.copy_store()
        await self.live(page)
        await page.evaluate("favorites.put('lost', { title: 'Lost' }).confirmed")
        await page.evaluate("favorites.update('old', { title: 'New' }).confirmed")
        await page.context.route("**/v1/actions", lambda route: route.abort())
        await page.evaluate("favorites.put('outbox', { title: 'Outbox' }).saved")
        self.restore_store()
        await page.context.unroute("**/v1/actions")
        await self.until(page, "ids() === 'old,outbox'")
        await self.idle(page)
        items = self.server.send("/v1/favorites", token=self.outside())["items"]
        self.assertEqual([item["title"] for item in items], ["Old", "Outbox"])
        await self.until(page, "items => JSON.stringify(favorites.value) === items", json.dumps(items, separators=(",", ":")))
        # The copy on the device has been replaced too.
        await page.reload()
        await self.until(page, "globalThis.isLoaded && ids() === 'old,outbox'")

    @limit(240)
    async def test_a_confirmed_write_that_a_restored_server_has_lost_is_no_longer_shown(self):
        page = await self.user(await self.device())
        held = []
        is_held = True

        async def hold(route):
            if is_held:
                held.append(route)
            else:
                await route.continue_()

        await page.context.route("**/v1/changes?**", hold)
        # The feed that waits ends with this write. The next request for it does not reach the server.
        await page.evaluate("favorites.put('old', { title: 'Old' }).confirmed")
        await self.eventually(lambda: held)
        self.copy_store()
        await page.evaluate("favorites.put('lost', { title: 'Lost' }).confirmed")
        await page.evaluate("favorites.update('old', { title: 'New' }).confirmed")
        self.assertEqual(await page.evaluate("ids()"), "old,lost")
        self.restore_store()
        is_held = False
        for route in held:
            await route.abort()
        await self.until(page, "ids() === 'old' && favorites.value[0].title === 'Old'")

    @limit(240)
    async def test_the_end_of_the_session_asks_for_a_login_which_continues_with_the_outbox(self):
        device = await self.device()
        page = await self.user(device)
        second = await self.tab(device)
        await self.live(second)
        token = self.outside()
        for session in self.server.send("/v1/sessions", token=token)["items"]:
            if not session["current"]:
                self.server.send(f"/v1/sessions/{session['id']}", "DELETE", token=token)
        await self.state(page, "needsLogin")
        await self.state(second, "needsLogin")
        await page.evaluate("favorites.put('kept').saved")
        await second.evaluate("favorites.put('also kept').saved")
        # The other tab logs in.
        await second.evaluate("lockstep.logIn(account('ada@example.com'))")
        await self.idle(page)
        await self.idle(second)
        items = self.server.send("/v1/favorites", token=token)["items"]
        self.assertEqual([item["id"] for item in items], ["kept", "also kept"])

    @limit(240)
    async def test_logging_out_removes_the_copy_and_the_session_from_the_device(self):
        device = await self.device()
        page = await self.user(device)
        await page.evaluate("favorites.put('secret').confirmed")
        await self.idle(page)
        await page.evaluate("lockstep.logOut()")
        await self.state(page, "needsLogin")
        rows = await page.evaluate("""() => new Promise(resolve => indexedDB.databases().then(([{ name }]) => {
            const request = indexedDB.open(name)
            request.onsuccess = () => {
                const all = request.result.transaction('rows').objectStore('rows').getAll()
                all.onsuccess = () => resolve(JSON.stringify(all.result))
            }
        }))""")
        self.assertNotIn("secret", rows)
        self.assertNotIn("token", rows)
        await page.reload()
        await self.until(page, "globalThis.isLoaded && lockstep.state.name === 'needsLogin'")
        self.assertEqual(await page.evaluate("ids()"), "")

    @limit(240)
    async def test_a_logout_in_a_second_tab_without_a_network_resolves_and_the_session_ends_later(self):
        device = await self.device()
        tabs = [await self.user(device), await self.tab(device)]
        await self.live(*tabs)
        other = self.outside()
        await device.set_offline(True)
        await tabs[1].evaluate("lockstep.logOut()")
        for tab in tabs:
            await self.until(tab, "lockstep.user === undefined && lockstep.state.name === 'needsLogin'")
        self.assertEqual(len(self.server.send("/v1/sessions", token=other)["items"]), 2)
        await device.set_offline(False)
        await self.eventually(lambda: len(self.server.send("/v1/sessions", token=other)["items"]) == 1)

    @limit(240)
    async def test_unsent_writes_that_a_user_keeps_are_never_sent_by_another_user(self):
        device = await self.device()
        self.server.sign_up("bob@example.com")
        page = await self.user(device)
        await page.evaluate("favorites.put('sent').confirmed")
        await device.route("**/v1/actions", lambda route: route.abort())
        await page.evaluate("favorites.put('unsent').saved")
        await page.evaluate("lockstep.logOut({ keepCopy: true })")
        await self.state(page, "needsLogin")
        await device.unroute("**/v1/actions")
        await page.reload()
        await self.until(page, "globalThis.isLoaded && ids() === 'sent,unsent'")
        await page.evaluate("lockstep.logIn(account('ada@example.com'))")
        await self.idle(page)
        self.assertEqual([entry["action"]["payload"]["id"] for entry in self.entries()], ["sent", "unsent"])
        await device.route("**/v1/actions", lambda route: route.abort())
        await page.evaluate("favorites.put('secret').saved")
        await page.evaluate("lockstep.logOut({ keepCopy: true })")
        await device.unroute("**/v1/actions")
        await page.evaluate("lockstep.logIn(account('bob@example.com'))")
        await self.idle(page)
        self.assertEqual(await page.evaluate("ids()"), "")
        self.assertEqual(self.server.send("/v1/favorites", token=self.outside("bob@example.com"))["items"], [])

    @limit(240)
    async def test_event_streams_deliver_changes_and_continue_after_the_server_was_killed(self):
        phone = await self.user(await self.device(), transport="events")
        tablet = await self.log_in(await self.device(), transport="events")
        await phone.evaluate("favorites.put('a').confirmed")
        await self.until(tablet, "ids() === 'a'")
        self.server.end(signal.SIGKILL)
        await self.state(phone, "offline")
        await self.state(tablet, "offline")
        await phone.evaluate("favorites.put('b').saved")
        await tablet.evaluate("favorites.put('c', { index: 0 }).saved")
        self.server.start()
        await self.idle(phone)
        await self.idle(tablet)
        ids = [item["id"] for item in self.server.send("/v1/favorites", token=self.outside())["items"]]
        self.assertEqual(sorted(ids), ["a", "b", "c"])
        for page in [phone, tablet]:
            await self.until(page, "expected => ids() === expected", ",".join(ids))
