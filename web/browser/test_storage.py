"""Browsers that refuse storage, and long lists."""

from measure import fill, measure
from support import BrowserTest, limit

REFUSE = "indexedDB.open = () => { throw new DOMException('Refused', 'SecurityError') }"
FAIL = """
indexedDB.open = () => {
  const request = { error: new DOMException('Refused', 'UnknownError') }
  setTimeout(() => request.onerror?.(), 0)
  return request
}
"""
FULL = """
const { put } = IDBObjectStore.prototype
IDBObjectStore.prototype.put = function (...values) {
  if (globalThis.isFull) throw new DOMException('Full', 'QuotaExceededError')
  return put.apply(this, values)
}
"""


class StorageTests(BrowserTest):
    async def check_without_storage(self, script):
        device = await self.device()
        await device.add_init_script(script)
        page = await self.user(device)
        await page.evaluate("favorites.put('a').confirmed")
        self.assertEqual(await page.evaluate("lockstep.storeError.message"), "Refused")
        self.assertEqual(await page.evaluate("ids()"), "a")

    @limit(240)
    async def test_a_browser_that_forbids_storage_is_reported_and_the_client_works_until_the_page_closes(self):
        await self.check_without_storage(REFUSE)

    @limit(240)
    async def test_a_browser_whose_storage_fails_is_reported_and_the_client_works_until_the_page_closes(self):
        await self.check_without_storage(FAIL)

    @limit(240)
    async def test_a_write_that_does_not_fit_the_storage_is_rejected_and_taken_back(self):
        device = await self.device()
        await device.add_init_script(FULL)
        page = await self.user(device)
        await page.evaluate("favorites.put('a').confirmed")
        await page.evaluate("globalThis.isFull = true")
        error = await page.evaluate("favorites.put('b').saved.then(() => 'saved', error => error.name)")
        self.assertEqual(error, "QuotaExceededError")
        self.assertEqual(await page.evaluate("[ids(), lockstep.storeError.name]"), ["a", "QuotaExceededError"])
        await page.evaluate("globalThis.isFull = false")
        await page.evaluate("favorites.put('c').confirmed")
        self.assertEqual([item["id"] for item in self.server.send("/v1/favorites", token=self.outside())["items"]], ["a", "c"])

    @limit(240)
    async def test_after_the_user_has_cleared_the_sites_data_writes_of_all_tabs_are_rejected_and_all_tabs_know(self):
        device = await self.device()
        tabs = [await self.user(device), await self.tab(device)]
        await self.live(*tabs)
        session = await device.new_cdp_session(tabs[0])
        await session.send("Storage.clearDataForOrigin", {"origin": self.site.url, "storageTypes": "all"})
        for tab in reversed(tabs):
            saved = "favorites.put('lost').saved.then(() => 'saved', () => 'rejected')"
            self.assertEqual(await tab.evaluate(saved), "rejected")
        for tab in tabs:
            await self.until(tab, "lockstep.state.storeError && ids() === ''")


class LongListTests(BrowserTest):
    @limit(240)
    async def test_ten_thousand_favorites_load_and_change_quickly(self):
        _, token = self.server.sign_up()
        fill(self.server, token, 10_000)
        figures = await measure(self, token)
        # The limits are generous, because the machine may be busy. The usual values are a tenth.
        self.assertLess(figures["load"], 5_000)
        self.assertLess(figures["reload"], 5_000)
        self.assertLess(figures["apply"], 50)
        self.assertLess(figures["memory"], 64 * 2**20)
        self.assertEqual(figures["changes"], {"deletions": 25, "insertions": 25, "moves": 25, "modifications": 25})
