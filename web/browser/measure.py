"""Measures the client in Chromium with a long list."""

import json
import os
import statistics

from support import BrowserTest, limit

# Loads the list with a new client. Times are in ms, the memory is in bytes.
LOAD = """
async ({ token, name, size }) => {
  gc()
  const memory = performance.memory.usedJSHeapSize
  const began = performance.now()
  const client = globalThis.measured = new Lockstep(new URLSearchParams(location.search).get('server'), { token, name })
  const list = client.list('favorites')
  client.start()
  await new Promise(resolve => {
    const check = () => list.value.length === size && resolve()
    list.subscribe(check)
    check()
  })
  const time = performance.now() - began
  // The client writes the copy 0.3 s later.
  await new Promise(resolve => setTimeout(resolve, 1_000))
  gc()
  return { time, memory: performance.memory.usedJSHeapSize - memory }
}
"""

# Applies the changeset that the server has sent to the list before it, 21 times.
APPLY = """
() => {
  const times = []
  for (let round = 0; round < 21; round++) {
    const began = performance.now()
    const value = apply(change.previous, change.changeset)
    times.push(performance.now() - began)
    if (JSON.stringify(value) !== JSON.stringify(change.value)) throw new Error('a wrong value')
  }
  return times
}
"""

# The time that a write of the app needs until it is shown, 21 times.
WRITE = """
async () => {
  const times = []
  const list = measured.list('favorites')
  for (let round = 0; round < 21; round++) {
    const began = performance.now()
    const write = list.update(list.value[5_000].id, { title: `own ${round}` })
    void list.value
    times.push(performance.now() - began)
    await write.confirmed
  }
  return times
}
"""


def act(server, token, actions):
    body = {"actions": [{"module": "favorites", "type": type, "payload": payload} for type, payload in actions]}
    server.send("/v1/actions", "POST", body, token)


def fill(server, token, size):
    """Adds favorites with ids and titles of usual lengths."""
    for start in range(0, size, 500):
        act(server, token, [
            ("add", {"id": f"photo:{number}", "title": f"The photo with the number {number}"})
            for number in range(start, start + 500)
        ])


async def measure(test, token, size=10_000):
    """Returns the figures of a list of this size, which the user of the token has."""
    page = await test.tab(await test.device())
    arguments = {"token": token, "name": "measured", "size": size}
    first = await page.evaluate(LOAD, arguments)
    await page.evaluate("""() => {
        measured.list('favorites').subscribe((value, { previous, changeset, origin }) => {
            globalThis.change = { previous, changeset, value, origin }
        })
    }""")
    # 100 edits in one transaction, spread over the list.
    actions = []
    for place in range(25):
        base = place * size // 25
        actions += [
            ("remove", {"id": f"photo:{base + 10}"}),
            ("move", {"id": f"photo:{base + 20}", "index": 0}),
            ("update", {"id": f"photo:{base + 30}", "title": "Changed"}),
            ("add", {"id": f"new:{place}", "title": "New", "index": base}),
        ]
    act(test.server, token, actions)
    await test.until(page, "globalThis.change")
    kinds = ["deletions", "insertions", "moves", "modifications"]
    changes = {kind: len(change) for kind, change in (await page.evaluate("change.changeset")).items() if kind in kinds}
    applied = await page.evaluate(APPLY)
    written = await page.evaluate(WRITE)
    await page.evaluate("measured.stop()")
    await page.reload()
    await test.until(page, "globalThis.isLoaded")
    again = await page.evaluate(LOAD, arguments)
    return {
        "load": first["time"], "reload": again["time"], "memory": first["memory"], "changes": changes,
        "apply": statistics.median(applied), "write": statistics.median(written),
    }


class Measurement(BrowserTest):
    """Writes the figures to the file in LOCKSTEP_FIGURES."""

    @limit(120)
    async def test_measure(self):
        token = self.server.sign_up()
        fill(self.server, token, 10_000)
        with open(os.environ["LOCKSTEP_FIGURES"], "w") as file:
            json.dump(await measure(self, token), file)
