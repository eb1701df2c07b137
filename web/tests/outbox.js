// Measures long outboxes: node web/tests/outbox.js [COUNT …]. Writes are made offline, to a list of
// 1,000 favorites and to a suite in turns. Then a server that only counts confirms them.
import { Lockstep } from '../lockstep.js'
import { eventually } from './server.js'

const items = Array.from({ length: 1_000 }, (_, index) => ({ id: `photo:${index}`, title: `The photo with the number ${index}` }))

/** A server in this process. Each document of the feed has the changes since the one before. */
class Counter {
  isOnline = true
  revision = 1
  #changes = []
  #keys = []
  #notify = () => {}

  #document(since) {
    const position = { since, cursor: `${this.revision}`, revision: this.revision }
    if (!since) {
      return { ...position, reset: true, keys: [], changesets: [{ collection: 'favorites', kind: 'list', items }, { collection: 'defaults/standard', kind: 'map', values: {} }] }
    }
    const modifications = new Map()
    const set = {}
    for (const { type, payload } of this.#changes.splice(0)) {
      if (type === 'set') set[payload.key] = payload.value
      else {
        const index = Number(payload.id.slice(6))
        modifications.set(index, { index, newIndex: index, item: { ...items[index], ...payload } })
      }
    }
    return { ...position, reset: false, keys: this.#keys.splice(0), changesets: [
      { collection: 'favorites', kind: 'list', deletions: [], insertions: [], moves: [], modifications: [...modifications.values()] },
      { collection: 'defaults/standard', kind: 'map', set, removed: [] }
    ] }
  }

  fetch = async (url, { headers, body, signal }) => {
    await new Promise(resolve => setImmediate(resolve))
    if (!this.isOnline) throw new TypeError('no network')
    const { pathname, searchParams } = new URL(url)
    const respond = (value, fields) => ({
      status: 200, ok: true, json: async () => value, headers: new Headers({ 'Content-Type': 'application/json', ...fields })
    })
    if (pathname === '/v1/me') return respond({ id: 'ada' })
    if (pathname === '/v1/actions') {
      this.revision++
      this.#changes.push(...JSON.parse(body).actions)
      this.#keys.push(headers['Idempotency-Key'])
      this.#notify()
      return respond({ cursor: `${this.revision}`, results: [] }, { Revision: `${this.revision}` })
    }
    const since = searchParams.get('since')
    if (since === `${this.revision}`) {
      await new Promise((resolve, reject) => {
        const abort = () => reject(new Error('aborted'))
        this.#notify = () => {
          signal.removeEventListener('abort', abort)
          resolve()
        }
        if (signal.aborted) abort()
        signal.addEventListener('abort', abort)
      })
    }
    return respond(this.#document(since))
  }
}

const median = times => times.sort((left, right) => left - right)[times.length >> 1]

console.log('| writes in the outbox | all made, s | the last 100: each, ms | all confirmed, s |')
console.log('|--:|--:|--:|--:|')
for (const count of process.argv.length > 2 ? process.argv.slice(2).map(Number) : [100, 1_000, 10_000]) {
  const server = new Counter()
  const client = new Lockstep('https://state.example', { token: 't', fetch: server.fetch, random: () => 0 })
  const [favorites, settings] = [client.list('favorites'), client.suite()]
  let shown = 0
  for (const collection of [favorites, settings]) collection.subscribe(() => shown++)
  client.start()
  await eventually(() => client.state.name === 'live')
  server.isOnline = false
  server.revision++
  const times = []
  const began = performance.now()
  let last
  for (let number = 0; number < count; number++) {
    const start = performance.now()
    last = number % 2 ? settings.set(`key${number % 500}`, number) : favorites.update(`photo:${number % 1_000}`, { title: `offline ${number}` })
    await last.saved
    times.push(performance.now() - start)
  }
  const made = performance.now() - began
  await client.stop()
  server.isOnline = true
  client.start()
  const drained = performance.now()
  await last.confirmed
  console.log(`| ${count.toLocaleString('en')} | ${(made / 1_000).toFixed(2)} | ${median(times.slice(-100)).toFixed(2)} | ${((performance.now() - drained) / 1_000).toFixed(2)} |`)
  await client.stop()
}
process.exit()
