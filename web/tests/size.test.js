// The costs of the client: bytes to load, and time for a large change.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { Lockstep, apply } from '../lockstep.js'
import { eventually } from './server.js'

test('The file has at most 12 KiB with gzip', () => {
  const bytes = gzipSync(readFileSync(new URL('../lockstep.js', import.meta.url)), { level: 9 }).length
  assert.ok(bytes <= 12_288, `${bytes} bytes`)
})

/** A list of 10,000 elements, and a changeset with 25 edits of each kind. */
function large() {
  const items = Array.from({ length: 10_000 }, (_, index) => ({ id: `${index}`, title: `Title ${index}`, data: { n: index } }))
  const each = body => Array.from({ length: 25 }, (_, number) => body(number * 300))
  return { items, change: {
    collection: 'favorites', kind: 'list',
    deletions: each(index => ({ index, id: items[index].id })),
    insertions: each(index => ({ index: index + 50, item: { id: `new${index}` } })),
    moves: each(index => ({ from: index + 100, to: index + 7, id: items[index + 100].id })),
    modifications: each(index => ({ index: index + 160, newIndex: index + 160, item: { ...items[index + 160], title: 'New' } }))
  } }
}

// Other work of the machine only adds to a time, so the least is the cost.
const least = times => Math.min(...times)

function parseTime(text) {
  const began = performance.now()
  JSON.parse(text)
  return performance.now() - began
}

/** Checks the least time. A machine that parses the list in more than 5 ms has more time in proportion. */
function check(what, times, limit, parseTimes) {
  const allowed = limit * Math.max(1, least(parseTimes) / 5)
  console.log(`${what}: ${least(times).toFixed(2)} ms, parse: ${least(parseTimes).toFixed(2)} ms`)
  assert.ok(least(times) < allowed, `${least(times)} ms, limit: ${allowed} ms`)
}

test('100 edits of a list of 10,000 take less than 5 ms', () => {
  const { items, change } = large()
  const start = apply([], { kind: 'list', items })
  const list = JSON.stringify(items)
  const times = []
  const parseTimes = []
  for (let round = 0; round < 50; round++) {
    parseTimes.push(parseTime(list))
    const began = performance.now()
    assert.equal(apply(start, change).length, 10_000)
    times.push(performance.now() - began)
  }
  check('apply', times, 5, parseTimes)
})

test('100 edits of a list of 10,000 reach a listener that reads its own changeset in less than 15 ms', { timeout: 300_000 }, async () => {
  const { items, change } = large()
  const list = JSON.stringify(items)
  const times = []
  const parseTimes = []
  for (let round = 0; round < 20; round++) {
    parseTimes.push(parseTime(list))
    const documents = [
      { since: null, cursor: 'a', revision: 1, reset: true, keys: [], changesets: [{ collection: 'favorites', kind: 'list', items }] },
      { since: 'a', cursor: 'b', revision: 2, reset: false, keys: [], changesets: [change] }
    ]
    let began
    const client = new Lockstep('https://state.example', {
      token: 't',
      fetch: async (url, { signal }) => {
        const body = url.endsWith('/v1/me') ? { id: 'ada' } : documents.shift()
        // After the last document, the server is silent.
        if (!body) await new Promise((_, reject) => { signal.onabort = () => reject(new Error('aborted')) })
        const text = JSON.stringify(body)
        return {
          status: 200, ok: true, headers: new Headers({ 'Content-Type': 'application/json' }),
          json: async () => {
            const value = JSON.parse(text)
            began = performance.now()
            return value
          }
        }
      }
    })
    let edits
    client.list('favorites').subscribe((_, { previous, changeset }) => {
      if (!previous.length) return
      edits = ['deletions', 'insertions', 'moves', 'modifications'].map(name => changeset[name].length)
      times.push(performance.now() - began)
    })
    client.start()
    await eventually(() => edits)
    assert.deepEqual([edits[0], edits[1], edits[3]], [25, 25, 25])
    await client.stop()
  }
  check('apply, show and compare', times, 15, parseTimes)
})
