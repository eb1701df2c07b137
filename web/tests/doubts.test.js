// Writes in doubt: their responses were lost, and the client cannot know whether the server has applied
// them. No clock of the device decides on them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Lockstep } from '../lockstep.js'
import { Model } from './model.js'
import { eventually, randomNumbers, rows } from './server.js'

const seed = Number(process.env.LOCKSTEP_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`LOCKSTEP_TEST_SEED=${seed}`)
const hour = 3_600_000

/** A device with a clock that may be wrong. */
class Device {
  store = rows()
  error = 0
  clients = []

  constructor(server) { this.server = server }

  open() {
    const client = new Lockstep('https://state.example', {
      store: this.store, token: 't', fetch: this.server.fetch, random: () => 0, now: () => this.server.now + this.error,
      // The limit for a response stays, because this process may pause.
      setTimeout: (body, ms) => setTimeout(body, ms === 45_000 ? ms : Math.min(ms, 2_000) / 100)
    })
    this.clients.push(client)
    client.start()
    return client
  }

  stop() { return Promise.all(this.clients.map(client => client.stop())) }
}

const increment = (client, key, tag) => client.transaction(t => t.do('defaults', 'increment', { key, by: 1, tag }))
const live = client => eventually(() => client.state.name === 'live')

/** Runs a test with a server and a device. */
function withDevice(name, body) {
  test(name, { timeout: 300_000 }, async () => {
    const server = new Model()
    const device = new Device(server)
    try { await body(server, device) } finally { await device.stop() }
  })
}

/** Makes a write whose first attempt fails, and lets hours pass without a network. */
async function doubt(server, device, loss, hours, error = 0) {
  device.error = error
  const client = device.open()
  await live(client)
  server.loss = () => {
    server.isReachable = false
    return loss
  }
  await increment(client, 'n', 'doubtful').saved
  await eventually(() => client.state.name === 'offline')
  await client.stop()
  server.loss = () => undefined
  server.now += hours * hour
  device.error = 0
}

async function reconnect(server, device) {
  server.isReachable = true
  const client = device.open()
  await eventually(() => client.state.name === 'live' && !client.pending.length)
  return client
}

for (const [name, error] of [['a day fast', 24], ['three days fast', 72], ['three days slow', -72], ['right', 0]]) {
  withDevice(`A write whose response was lost a day ago is not applied twice, after a clock that was ${name}`, async (server, device) => {
    await doubt(server, device, 'response', 25, error * hour)
    const client = await reconnect(server, device)
    assert.deepEqual([server.values, client.suite().value.n], [{ n: 1 }, 1])
    assert.deepEqual(client.refused.map(({ status }) => status), [0])
  })

  withDevice(`A write that never reached the server is sent a day later, after a clock that was ${name}`, async (server, device) => {
    await doubt(server, device, 'request', 25, error * hour)
    server.set('other', 1)
    const client = await reconnect(server, device)
    assert.deepEqual([server.values, client.refused], [{ n: 1, other: 1 }, []])
  })
}

withDevice('A write whose response was lost an hour ago is confirmed, whatever else has changed', async (server, device) => {
  await doubt(server, device, 'response', 1, 72 * hour)
  server.set('n', 7)
  const client = await reconnect(server, device)
  assert.deepEqual([server.values, client.refused, server.applied.get('doubtful')], [{ n: 7 }, [], 1])
})

withDevice('A write that the feed has named is confirmed, also a day later', async (server, device) => {
  const client = device.open()
  await live(client)
  server.loss = () => 'response'
  await increment(client, 'n', 'doubtful').saved
  await eventually(() => client.state.name === 'offline')
  await eventually(() => client.suite().value.n === 1 && client.state.name === 'live')
  await client.stop()
  server.loss = () => undefined
  server.now += 25 * hour
  const again = await reconnect(server, device)
  assert.deepEqual([server.values, again.refused], [{ n: 1 }, []])
})

withDevice('Without the field Date, a write whose response was lost a day ago is not applied twice', async (server, device) => {
  server.hasDates = false
  await doubt(server, device, 'response', 25)
  const client = await reconnect(server, device)
  assert.deepEqual([server.values, client.refused.map(({ status }) => status)], [{ n: 1 }, [0]])
})

withDevice('Without the field Date, a write that never reached the server is sent', async (server, device) => {
  server.hasDates = false
  await doubt(server, device, 'request', 25)
  const client = await reconnect(server, device)
  assert.deepEqual([server.values, client.refused], [{ n: 1 }, []])
})

withDevice('A write in doubt for a day is refused with a short text if its element has changed', async (server, device) => {
  await doubt(server, device, 'request', 25)
  server.set('n', 7)
  const client = await reconnect(server, device)
  assert.deepEqual(client.refused.map(({ status, title }) => [status, title]), [[0, 'The server may have applied this change']])
  assert.deepEqual(server.values, { n: 7 })
})

withDevice('A write that an earlier version has marked with a time in the future is refused', async (server, device) => {
  await doubt(server, device, 'response', 25)
  const [name] = [...device.store.kept.keys()].filter(key => key.startsWith('o:'))
  const { seen, ...row } = JSON.parse(device.store.kept.get(name))
  device.store.kept.set(name, JSON.stringify({ ...row, sent: server.now + 47 * hour }))
  const client = await reconnect(server, device)
  assert.deepEqual([server.values, client.refused.map(({ status }) => status)], [{ n: 1 }, [0]])
})

withDevice('A write is not sent before the store has the mark of its first attempt', async (server, device) => {
  const { write } = device.store
  let fails = 1
  device.store.write = changes => changes.some(([, row]) => row?.sent !== undefined) && fails-- > 0 ? Promise.reject(new Error('full')) : write(changes)
  let kept
  const requests = []
  server.loss = () => {
    requests.push([...device.store.kept].filter(([name, row]) => name.startsWith('o:') && JSON.parse(row).sent !== undefined).length)
  }
  const client = device.open()
  await live(client)
  client.onState(({ name, error }) => { if (name === 'offline') kept ??= [error.message, requests.length, { ...server.values }] })
  await increment(client, 'n', 'first').confirmed
  assert.deepEqual([kept, requests, server.values], [['full', 0, {}], [1], { n: 1 }])
})

withDevice('A write that the feed has named is not sent a day later, although the store has no mark of its attempt', async (server, device) => {
  await doubt(server, device, 'response', 0)
  const [name] = [...device.store.kept.keys()].filter(key => key.startsWith('o:'))
  const { sent, seen, ...row } = JSON.parse(device.store.kept.get(name))
  device.store.kept.set(name, JSON.stringify({ ...row, isIncluded: true }))
  server.now += 25 * hour
  const client = await reconnect(server, device)
  assert.deepEqual([server.values, client.refused], [{ n: 1 }, []])
})

test('With random losses, restarts, days offline and clocks that jump, no write is applied twice or lost', { timeout: 300_000 }, async () => {
  const random = randomNumbers(seed)
  for (let round = 0; round < Number(process.env.LOCKSTEP_ROUNDS ?? 10); round++) {
    const server = new Model()
    const device = new Device(server)
    server.loss = () => [undefined, undefined, 'request', 'response'][random(4)]
    let client = device.open()
    await live(client)
    const refused = new Set()
    const tags = []
    for (let step = 0; step < 30; step++) {
      switch (random(7)) {
        case 0: device.error = (random(200) - 100) * hour; break
        case 1: server.set('abc'[random(3)], random(100)); break
        case 2: {
          server.isReachable = false
          await eventually(() => client.state.name !== 'live')
          server.now += random(40) * hour
          server.isReachable = true
          break
        }
        case 3: {
          await client.stop()
          server.now += random(3) * hour
          client = device.open()
          break
        }
        default: {
          const tag = `${round}.${step}`
          tags.push(tag)
          await increment(client, 'abc'[random(3)], tag).saved
        }
      }
    }
    server.loss = () => undefined
    await eventually(() => client.state.name === 'live' && !client.pending.length)
    for (const { actions } of client.refused) refused.add(actions[0].payload.tag)
    const what = `seed ${seed}, round ${round}`
    for (const tag of tags) {
      const times = server.applied.get(tag) ?? 0
      assert.ok(times === 1 || refused.has(tag) && times === 0, `${what}: ${tag} was applied ${times} times`)
    }
    await eventually(() => JSON.stringify({ ...client.suite().value }) === JSON.stringify(server.values), `${what}: the value`)
      .catch(error => { throw new Error(`${error.message} ${JSON.stringify(client.suite().value)} ${JSON.stringify(server.values)}`) })
    await device.stop()
  }
})
