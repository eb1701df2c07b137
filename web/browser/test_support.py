"""The tests themselves notice errors."""

from support import BrowserTest, limit


class SupportTests(BrowserTest):
    @limit(240)
    async def test_messages_errors_and_unhandled_rejections_are_noticed(self):
        page = await self.tab(await self.device())
        await page.evaluate("void Promise.reject(new Error('rejected'))")
        await page.evaluate("void setTimeout(() => { throw new Error('thrown') }, 0)")
        await page.evaluate("console.info('logged')")
        await self.until(page, "new Promise(resolve => setTimeout(() => resolve(true), 50))")
        self.assertEqual(sorted(self.messages), ["error: rejected", "error: thrown", "info: logged"])
        self.messages.clear()

    @limit(240)
    async def test_a_confirmed_promise_that_the_app_ignores_raises_no_unhandled_rejection(self):
        self.requests_fail = True
        page = await self.user(await self.device())
        await page.evaluate("void favorites.move('none', 0)")
        await self.until(page, "lockstep.refused.length === 1")
        self.assertEqual(self.messages, [])
