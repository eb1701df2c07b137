"""The code in docs/web.md for React and Vue, with these frameworks. Svelte is not available."""

import os
import re
import shutil
import tempfile

from support import ROOT, BrowserTest, limit

with open(os.path.join(ROOT, "docs", "web.md")) as guide:
    TEXT = guide.read().split("## React, Vue and Svelte")[1]

# A source that counts its subscriptions. The framework decides when a component is shown again.
PAGE = """
import { Lockstep } from './lockstep.js'

const lockstep = new Lockstep(new URLSearchParams(location.search).get('server'))
const list = lockstep.list('favorites')
let subscriptions = 0
const subscribe = listener => {
  subscriptions++
  const unsubscribe = list.subscribe(listener)
  return () => { subscriptions--; unsubscribe() }
}
const favorites = { get value() { return list.value }, snapshot: list.snapshot, subscribe }
let renders = 0
let changes = 0
list.subscribe(() => changes++)
const place = document.body.appendChild(document.createElement('main'))
const count = () => ({ renders, changes, subscriptions, text: place.innerText })
"""

REACT = """
const { createElement, useSyncExternalStore } = React
function Favorites() {
  CODE
  renders++
  return createElement('p', {}, items.map(({ title }) => title).join())
}
const root = ReactDOM.createRoot(place)
root.render(createElement(Favorites))
const unmount = () => root.unmount()
"""

VUE = """
import { createApp, h, onUnmounted, shallowRef } from './vue.js'
const app = createApp({
  setup() {
    CODE
    return () => {
      renders++
      return h('p', items.value.map(({ title }) => title).join())
    }
  }
})
app.mount(place)
const unmount = () => app.unmount()
"""


class FrameworkTests(BrowserTest):
    async def asyncSetUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-web-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        await super().asyncSetUp()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    async def check(self, name, component, scripts=""):
        [code] = re.findall(rf"```jsx?\n// {name}[^\n]*\n(.*?)```", TEXT, re.DOTALL)
        self.write("page.js", PAGE + component.replace("CODE", code) + "Object.assign(globalThis, { lockstep, list, count, unmount })\n")
        self.write("index.html", f"""<!doctype html><title>{name}</title><link rel="icon" href="data:,"><body>
{scripts}<script type="module" src="page.js"></script>""")
        page = await (await self.device()).new_page()
        await page.goto(f"{self.site.url}/?server={self.server.url}")
        await self.until(page, "globalThis.count?.().renders")
        self.assertEqual(await page.evaluate("count()"), {"renders": 1, "changes": 0, "subscriptions": 1, "text": ""})
        await page.evaluate("lockstep.start(), lockstep.signUp({ email: 'ada@example.com', password: 'correct horse' })")
        for number, text in enumerate(["Aurora", "Aurora,Geysir"]):
            title = text.rsplit(",", 1)[-1]
            # The second change of a write is that of its times, when the server has confirmed it.
            await page.evaluate("title => list.put(title, { title }).confirmed", title)
            await self.until(page, "lockstep.state.name === 'live' && !lockstep.pending.length && count().changes > 0")
            await self.until(page, "text => count().text === text", text)
            await self.until(page, "number => count().changes >= number", 2 * number + 1)
            # Changes in one task may be shown together.
            shown = await page.evaluate("count()")
            self.assertGreater(shown["renders"], 1)
            self.assertLessEqual(shown["renders"], shown["changes"] + 1)
        # A change elsewhere does not show the component again.
        before = await page.evaluate("count().renders")
        await page.evaluate("lockstep.suite().set('theme', 'dark').confirmed")
        await page.evaluate("unmount()")
        self.assertEqual(await page.evaluate("count().subscriptions"), 0)
        await page.evaluate("list.put('late').confirmed")
        self.assertEqual(await page.evaluate("count().renders"), before)

    @limit(240)
    async def test_react_shows_the_value_after_each_change_and_unsubscribes(self):
        for name in ["react", "react-dom"]:
            shutil.copy(f"/usr/share/nodejs/{name}/umd/{name}.production.min.js", os.path.join(self.folder, f"{name}.js"))
        await self.check("React", REACT, '<script src="react.js"></script><script src="react-dom.js"></script>\n')

    @limit(240)
    async def test_vue_shows_the_value_after_each_change_and_unsubscribes(self):
        shutil.copy(os.environ["LOCKSTEP_VUE"], os.path.join(self.folder, "vue.js"))
        await self.check("Vue", VUE)
