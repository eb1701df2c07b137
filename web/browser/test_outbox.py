"""Long outboxes in several tabs."""

import asyncio

from support import BrowserTest, limit

# Notes the longest tasks of a page.
OBSERVE = """
globalThis.tasks = []
new PerformanceObserver(list => tasks.push(...list.getEntries().map(({ duration }) => Math.round(duration)))).observe({ type: 'longtask' })
"""

# Makes writes of four kinds, to favorites and to a suite.
WRITE = """
async count => {
    let last
    for (let number = 0; number < count; number++) {
        const id = `photo:${number % 500}`
        last = [
            () => favorites.put(id, { title: `Title ${number}` }), () => settings.set(`key${number % 500}`, number),
            () => favorites.update(id, { data: { number } }), () => settings.increment('count', 1)
        ][number % 4]()
        if (number % 50 === 49) await last.saved
    }
    await last.saved
}
"""


class OutboxTests(BrowserTest):
    requests_fail = True

    async def drain(self, count):
        """Sends this many writes with four tabs open. Returns the seconds, and the long tasks of each tab in ms. If one
        of them takes a second, the machine may have paused, so this repeats the measurement twice at most."""
        for attempt in range(3):
            seconds, tasks = await self.drain_once(count, f"user{attempt}@example.com")
            if all(task < 1_000 for tab in tasks for task in tab):
                break
        return seconds, tasks

    async def drain_once(self, count, email):
        device = await self.device()
        tabs = [await self.user(device, email)]
        for _ in range(3):
            tabs.append(await self.tab(device))
        await self.live(*tabs)
        await device.set_offline(True)
        await self.state(tabs[1], "offline")
        await tabs[1].evaluate(WRITE, count)
        for tab in tabs:
            await self.until(tab, "count => lockstep.state.pending === count", count)
            await tab.evaluate(OBSERVE)
        began = asyncio.get_running_loop().time()
        await device.set_offline(False)
        for tab in tabs:
            await self.idle(tab, seconds=240)
        seconds = asyncio.get_running_loop().time() - began
        for tab in tabs:
            await self.until(tab, "count => settings.get('count') === count", count // 4)
        tasks = [await tab.evaluate("tasks") for tab in tabs]
        await device.close()
        return seconds, tasks

    @limit(900)
    async def test_a_long_outbox_is_sent_while_all_tabs_stay_responsive(self):
        seconds, tasks = await self.drain(1_000)
        print(f"{1_000 / seconds:.0f} writes/s, long tasks: {tasks}")
        # The limit is generous, because the machine may be busy. Usually, there is no task over 50 ms.
        self.assertLess(max([0, *(task for tab in tasks for task in tab)]), 1_000)

    @limit(300)
    async def test_a_leading_tab_that_is_busy_holds_up_the_writes_of_other_tabs_for_some_seconds_only(self):
        device = await self.device()
        await device.add_init_script("""
            globalThis.thefts = 0
            const { request } = globalThis.LockManager?.prototype ?? {}
            if (request) LockManager.prototype.request = function (name, options, body) {
                if (options.steal) thefts++
                return request.call(this, name, options, body)
            }
        """)
        leader = await self.user(device)
        other = await self.tab(device)
        await self.live(other)
        await leader.evaluate("""() => {
            setTimeout(() => {
                const end = performance.now() + 6_000
                while (performance.now() < end);
            })
        }""")
        thefts = await other.evaluate("""async () => {
            const writes = Array.from({ length: 1_000 }, () => settings.increment('count'))
            await Promise.all(writes.map(write => write.saved))
            return thefts
        }""")
        # If the machine is very slow, the leading tab may respond first, or be slow twice.
        self.assertLessEqual(thefts, 2)
        for tab in [leader, other]:
            await self.idle(tab)
            await self.until(tab, "settings.get('count') === 1_000")
        # The tab that was busy has stored nothing again that the other one has sent.
        await self.until(other, """async () => {
            const [{ name }] = await indexedDB.databases()
            const database = await new Promise(resolve => { indexedDB.open(name).onsuccess = ({ target }) => resolve(target.result) })
            const rows = database.transaction('rows').objectStore('rows').getAllKeys()
            await new Promise(resolve => { rows.onsuccess = resolve })
            database.close()
            return !rows.result.some(key => key.startsWith('o:'))
        }""")
