"""Measures the client in Chromium with a long list."""

import os
import statistics

from support import BrowserTest, limit

# Loads the list with a new client. Times are in ms, the memory is in bytes.
LOAD = """
async ({ token, name, size }) => {
  gc()
  const memory = performance.memory.usedJSHeapSize
  const began = performance.now()
  const client = globalThis.measured = new Lockstep(new URLSearchParams(location.search).get('server'), {
    token, name, fetch: (...request) => globalThis.isOffline ? Promise.reject(new TypeError('no network')) : fetch(...request)
  })
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

# The time until a write of the app is shown, 21 times. Each is confirmed before the next one.
WRITE = """
async () => {
  const times = []
  const list = measured.list('favorites')
  for (let round = 0; round < 21; round++) {
    const { id } = list.value[list.value.length >> 1]
    const began = performance.now()
    const write = list.update(id, { title: `own ${round}` })
    times.push(performance.now() - began)
    await write.confirmed
  }
  return times
}
"""

# The same after 100 writes that cannot be sent.
WRITE_OFFLINE = """
async () => {
  globalThis.isOffline = true
  const list = measured.list('favorites')
  const write = number => list.update(list.value[list.value.length - 1 - number].id, { title: `offline ${number}` })
  for (let number = 0; number < 100; number++) await write(number).saved
  const times = []
  for (let number = 100; number < 121; number++) {
    const began = performance.now()
    const done = write(number)
    times.push(performance.now() - began)
    await done.saved
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
    arguments = {"token": token, "name": f"measured{size}", "size": size}
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
    offline = await page.evaluate(WRITE_OFFLINE)
    return {
        "load": first["time"], "reload": again["time"], "memory": first["memory"], "changes": changes,
        "apply": statistics.median(applied), "write": statistics.median(written), "offline": statistics.median(offline),
    }


ROWS = [
    ("load from the server, ms", lambda figures: figures["load"]),
    ("load from IndexedDB, ms", lambda figures: figures["reload"]),
    ("memory of the client and its copy, KiB", lambda figures: figures["memory"] / 1024),
    ("apply a changeset of 100 edits, ms", lambda figures: figures["apply"]),
    ("show a write, ms", lambda figures: figures["write"]),
    ("show a write, 100 others unconfirmed, ms", lambda figures: figures["offline"]),
]


class Measurement(BrowserTest):
    """Prints a table: the medians of LOCKSTEP_ROUNDS rounds."""

    @limit(600)
    async def test_measure(self):
        sizes = {}
        for size in [1_000, 10_000]:
            sizes[size] = []
            for number in range(int(os.environ["LOCKSTEP_ROUNDS"])):
                _, token = self.server.sign_up(f"user{number}of{size}@example.com")
                fill(self.server, token, size)
                sizes[size].append(await measure(self, token, size))
        print("| favorites |" + "".join(f" {size:,} |" for size in sizes))
        print("|---|" + "--:|" * len(sizes))
        for name, figure in ROWS:
            medians = (statistics.median(map(figure, rounds)) for rounds in sizes.values())
            print(f"| {name} |" + "".join(f" {median:,.0f} |" if median >= 100 else f" {median:.3g} |" for median in medians))


def load_tests(loader, *_):
    return loader.suiteClass([Measurement("test_measure")])
