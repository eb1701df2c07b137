"""Several windows and tabs of one user."""

import asyncio

from support import BrowserTest, limit


class WindowTests(BrowserTest):
    @limit(240)
    async def test_what_one_window_does_the_other_shows(self):
        phone = await self.user(await self.device())
        tablet = await self.log_in(await self.device())
        await phone.evaluate("favorites.put('photo:1', { title: 'Aurora' }).confirmed")
        await self.until(tablet, "document.querySelector('#favorites').innerText === 'Aurora'")
        await tablet.evaluate("favorites.put('photo:2', { title: 'Geysir', index: 0 }).confirmed")
        await self.until(phone, "ids() === 'photo:2,photo:1'")
        await phone.evaluate("favorites.remove('photo:1').confirmed")
        await self.until(tablet, "ids() === 'photo:2'")

    @limit(240)
    async def test_a_move_and_a_theme_reach_the_other_window_as_changesets(self):
        phone = await self.user(await self.device())
        tablet = await self.log_in(await self.device())
        await phone.evaluate("Promise.all([...'abc'].map(id => favorites.put(id).confirmed))")
        await self.until(tablet, "ids() === 'a,b,c'")
        await tablet.evaluate("""() => {
            globalThis.seen = []
            favorites.subscribe((value, { changeset, origin }) => seen.push([changeset, origin]))
        }""")
        await phone.evaluate("favorites.move('c', 0).confirmed")
        await self.until(tablet, "ids() === 'c,a,b'")
        [[changeset, origin]] = await tablet.evaluate("seen")
        self.assertEqual((changeset["moves"], changeset["insertions"], origin), ([{"from": 2, "to": 0, "id": "c"}], [], "server"))
        await tablet.evaluate("settings.set('theme', 'dark').confirmed")
        await self.until(phone, "document.documentElement.dataset.theme === 'dark'")

    @limit(240)
    async def test_markup_in_a_title_is_shown_as_text(self):
        title = "<img src=x onerror='document.title = 1'>&amp;"
        page = await self.user(await self.device())
        await page.evaluate("title => favorites.put('a', { title }).confirmed", title)
        self.assertEqual(await page.text_content("#favorites li"), title)
        self.assertEqual(await page.locator("#favorites *").count(), 1)

    @limit(240)
    async def test_ten_tabs_share_one_connection_and_all_show_each_others_writes(self):
        device = await self.device()
        tabs = [await self.user(device)]
        for _ in range(9):
            tabs.append(await self.tab(device))
        await self.live(*tabs)
        for number, tab in enumerate(tabs):
            await tab.evaluate("id => favorites.put(id).confirmed", f"tab{number}")
        for tab in tabs:
            await self.until(tab, "favorites.value.length === 10")
        await self.eventually(lambda: self.metric("lockstep_waiting_requests") == 1)
        # Nothing changes for a while: no tab loses its state, and no second one connects.
        for _ in range(10):
            await asyncio.sleep(0.2)
            # Between two long polls there is a short pause.
            self.assertLessEqual(self.metric("lockstep_waiting_requests"), 1)
            self.assertEqual({await tab.evaluate("lockstep.state.name") for tab in tabs}, {"live"})

    @limit(240)
    async def test_when_the_leading_tab_is_closed_another_takes_over(self):
        device = await self.device()
        leader = await self.user(device)
        tabs = [await self.tab(device) for _ in range(9)]
        await self.live(*tabs)
        await leader.close()
        write = await tabs[3].evaluate("favorites.put('after').confirmed.then(({ results }) => results.length)")
        self.assertEqual(write, 1)
        await self.live(*tabs)
        for tab in tabs:
            await self.until(tab, "ids() === 'after'")
        await self.eventually(lambda: self.metric("lockstep_waiting_requests") == 1)

    @limit(240)
    async def test_a_write_is_kept_when_the_leading_tab_closes_before_it_is_sent(self):
        # The request of the closed tab may still reach the server. Then the next leader gets 409 at first.
        self.requests_fail = True
        device = await self.device()
        leader = await self.user(device)
        other = await self.tab(device)
        await self.live(other)
        # The leader gets the write, but cannot send it.
        await leader.route("**/v1/actions", lambda route: None)
        await other.evaluate("favorites.put('kept').saved")
        await leader.close()
        await self.idle(other)
        entries = self.server.send("/v1/journal", token=self.outside())["entries"]
        self.assertEqual([entry["action"]["payload"]["id"] for entry in entries], ["kept"])

    @limit(240)
    async def test_every_write_is_confirmed_while_one_leading_tab_after_the_other_is_closed(self):
        self.requests_fail = True
        device = await self.device()
        tabs = [await self.user(device)]
        for _ in range(5):
            tabs.append(await self.tab(device))
        writer = tabs.pop()
        await self.live(writer)
        await writer.evaluate("globalThis.writes = []")
        for number, tab in enumerate(tabs):
            # Before, during and after the end of the leading tab.
            await writer.evaluate("id => { writes.push(favorites.put(id)) }", f"before{number}")
            closing = asyncio.create_task(tab.close())
            await writer.evaluate("id => { writes.push(favorites.put(id)) }", f"during{number}")
            await closing
            await writer.evaluate("id => { writes.push(favorites.put(id)) }", f"after{number}")
        confirmed = "Promise.all(writes.map(write => write.confirmed)).then(all => all.length)"
        self.assertEqual(await writer.evaluate(confirmed), 15)
        entries = self.server.send("/v1/journal", token=self.outside())["entries"]
        self.assertEqual(len(entries), 15)

    @limit(240)
    async def test_a_tab_that_leads_and_hangs_is_replaced(self):
        self.requests_fail = True
        device = await self.device()
        await device.add_init_script("""
            const { postMessage } = BroadcastChannel.prototype
            BroadcastChannel.prototype.postMessage = function (message) {
                if (!globalThis.isMute) postMessage.call(this, message)
            }
        """)
        leader = await self.user(device)
        other = await self.tab(device)
        await self.live(other)
        await leader.evaluate("globalThis.isMute = true")
        await other.evaluate("favorites.put('a').confirmed")
        await self.live(other)
        await self.eventually(lambda: self.metric("lockstep_waiting_requests") == 1)
        await leader.evaluate("globalThis.isMute = false")
        await other.evaluate("favorites.put('b').confirmed")
        await self.until(leader, "ids() === 'a,b'")
        await leader.evaluate("favorites.put('c').confirmed")
        await self.live(leader, other)
        for tab in [leader, other]:
            await self.until(tab, "ids() === 'a,b,c'")
        await self.eventually(lambda: self.metric("lockstep_waiting_requests") == 1)

    @limit(240)
    async def test_without_web_locks_each_tab_works_alone(self):
        device = await self.device()
        await device.add_init_script("delete Navigator.prototype.locks")
        first = await self.user(device)
        self.assertFalse(await first.evaluate("'locks' in navigator"))
        second = await self.tab(device)
        await self.live(second)
        await self.eventually(lambda: self.metric("lockstep_waiting_requests") == 2)
        await first.evaluate("favorites.put('a').confirmed")
        await self.until(second, "ids() === 'a'")
        await second.evaluate("favorites.put('b').confirmed")
        await self.until(first, "ids() === 'a,b'")
        await self.idle(first)
        await self.idle(second)
        self.assertEqual(len(self.server.send("/v1/journal", token=self.outside())["entries"]), 2)

    @limit(240)
    async def test_without_web_locks_the_unconfirmed_writes_of_all_tabs_survive(self):
        self.requests_fail = True
        device = await self.device()
        await device.add_init_script("delete Navigator.prototype.locks")
        tabs = [await self.user(device), await self.tab(device)]
        await self.live(tabs[1])
        await device.route(self.server.url + "/**", lambda route: route.abort())
        for number in range(4):
            await tabs[number % 2].evaluate("number => settings.set(`key${number}`, number).saved", number)
        for tab in tabs:
            await tab.close()
        await device.unroute(self.server.url + "/**")
        page = await self.tab(device)
        await self.idle(page)
        values = self.server.send("/v1/defaults/standard", token=self.outside())["values"]
        self.assertEqual(values, {f"key{number}": number for number in range(4)})
