// `ifUnchanged`: a change of another device is never overwritten unseen, and the client's own writes
// are no conflict. Texts and responses that a client must not stumble over.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Lockstep } from '../lockstep.js'
import { Server, eventually, rows } from './server.js'

const password = 'correct horse'
const ifUnchanged = { ifUnchanged: true }

/** Runs a test with a server, a user, and functions that make clients of this user. */
function withUser(name, body) {
  test(name, { timeout: 300_000 }, async () => {
    const server = await Server.start()
    const clients = []
    try {
      const { token } = await server.request('', '/v1/users', 'POST', { email: 'ada@example.com', password })
      const make = options => {
        const client = new Lockstep(server.url, { token, ...options })
        clients.push(client)
        return client
      }
      const live = async client => {
        client.start()
        await eventually(() => client.state.name === 'live')
        return client
      }
      const other = (path, method, value) => server.request(token, path, method, value)
      await body({ make, live, other, server, token })
    } finally {
      for (const client of clients) await client.stop()
      await server.stop()
    }
  })
}

withUser('Without a copy, a write with ifUnchanged is refused at once, because the app has seen nothing', async ({ make, live, other }) => {
  await other('/v1/defaults/standard/theme', 'PUT', 'mine')
  const client = make()
  assert.throws(() => client.suite().set('theme', 'blind', ifUnchanged), { name: 'Refused', status: 0 })
  await live(client)
  await client.suite().set('theme', 'seen', ifUnchanged).confirmed
})

withUser('A change elsewhere before an own plain write is a conflict of the write after that', async ({ make, live, other }) => {
  const client = await live(make())
  const favorites = client.list('favorites')
  await favorites.put('a', { title: 'one', data: 'd0' }).confirmed
  await eventually(() => client.pending.length === 0 && favorites.get('a'))
  await client.stop()
  const plain = favorites.update('a', { title: 'two' })
  const conditional = favorites.update('a', { data: 'd2' }, ifUnchanged)
  await other('/v1/favorites/a', 'PATCH', { data: 'd1' })
  await live(client)
  await plain.confirmed
  await assert.rejects(conditional.confirmed, { status: 412 })
  assert.equal((await other('/v1/favorites/a')).data, 'd1')
})

withUser('Own writes to the same element or collection are no conflict', async ({ make, live, other }) => {
  const client = await live(make())
  const suite = client.suite()
  await client.stop()
  const writes = [
    suite.merge({ theme: 'dark' }), suite.set('theme', 'light', ifUnchanged), suite.clear(), suite.set('x', 1, ifUnchanged),
    suite.set('y', 2), suite.clear(ifUnchanged), suite.set('z', 3, ifUnchanged), suite.increment('z', 1, ifUnchanged)
  ]
  await live(client)
  for (const write of writes) await write.confirmed
  assert.deepEqual((await other('/v1/defaults/standard')).values, { z: 4 })
})

withUser('Conditional writes of a day offline are no conflicts because of changes of other elements', async ({ make, live, other }) => {
  const client = await live(make())
  const favorites = client.list('favorites')
  await favorites.put('note', { title: '0' }).confirmed
  await eventually(() => client.pending.length === 0 && favorites.get('note'))
  await client.stop()
  const writes = [1, 2, 3, 4].map(number => favorites.update('note', { title: `${number}` }, ifUnchanged))
  for (const id of ['b', 'c']) await other(`/v1/favorites/${id}`, 'PUT', {})
  await live(client)
  for (const write of writes) await write.confirmed
  assert.equal((await other('/v1/favorites/note')).title, '4')
})

withUser('A write that was made before its forerunner was merged with a change elsewhere is merged too', async ({ make, live, other }) => {
  const client = await live(make())
  const favorites = client.list('favorites')
  await favorites.put('note', { title: 'start' }).confirmed
  await eventually(() => client.pending.length === 0 && favorites.get('note'))
  await client.stop()
  const resolve = (current, [mine]) => [{ ...mine, payload: { ...mine.payload, title: `${current.title}, ${mine.payload.title}` } }]
  const writes = ['one', 'two'].map(title => favorites.update('note', { title }, { ifUnchanged: true, resolve }))
  await other('/v1/favorites/note', 'PATCH', { title: 'theirs' })
  await live(client)
  for (const write of writes) await write.confirmed
  assert.equal((await other('/v1/favorites/note')).title, 'theirs, one, two')
})

for (const transport of ['poll', 'events']) {
  withUser(`Over ${transport}, line separators in a text are text`, async ({ make, live, other }) => {
    const client = await live(make({ transport }))
    const title = 'a\u2028data: {}\u2029b\u0085c\vd'
    await other('/v1/favorites/a', 'PUT', { title })
    await eventually(() => client.list('favorites').get('a')?.title === title)
    assert.equal(client.state.name, 'live')
  })
}

withUser('After 429 without a time, or with a date, a write stays in the outbox and is sent again', async ({ make, live }) => {
  for (const after of [undefined, 'Wed, 21 Oct 2026 07:28:00 GMT']) {
    let left = 2
    const client = await live(make({
      random: () => 0,
      fetch: (url, options) => {
        if (!url.endsWith('/v1/actions') || !left--) return fetch(url, options)
        const headers = { 'Content-Type': 'application/json', ...after && { 'Retry-After': after } }
        return Promise.resolve(new Response('{"title":"Slow down"}', { status: 429, headers }))
      }
    }))
    await client.suite().set('x', 1).confirmed
    assert.deepEqual(client.refused, [])
  }
})

withUser('If `resolve` gives the write up, the write is neither sent nor in `refused`', async ({ make, live, other }) => {
  const client = await live(make())
  const profile = client.map('profile')
  for (const resolve of [() => {}, () => []]) {
    await profile.save({ companyName: 'Ours' }).confirmed
    await eventually(() => profile.value.companyName === 'Ours' && !client.pending.length)
    await client.stop()
    await other('/v1/profile', 'PATCH', { companyName: 'Theirs' })
    const write = profile.save({ companyName: 'Mine' }, { ifUnchanged: true, resolve })
    await live(client)
    await assert.rejects(write.confirmed, { status: 412 })
    await eventually(() => profile.value.companyName === 'Theirs')
    assert.deepEqual([client.refused, client.pending], [[], []])
  }
})

withUser('A write that changes nothing hides no change of another device from the next one', async ({ make, live, other }) => {
  const client = await live(make())
  const suite = client.suite()
  await suite.set('same', 1).confirmed
  await eventually(() => !client.pending.length && suite.isReady)
  await client.stop()
  const nothing = suite.set('same', 1)
  const seen = suite.set('theme', 'mine', ifUnchanged)
  await other('/v1/defaults/standard/theme', 'PUT', 'theirs')
  await live(client)
  await nothing.confirmed
  await assert.rejects(seen.confirmed, { status: 412 })
})

/** Responses of captive portals. */
const portals = [[200, {}], [200, { ok: true }], [201, {}], [403, { error: 'Log in' }], [401, undefined]]

for (const [status, body] of portals) {
  withUser(`A response that is not Lockstep's says nothing about a write: ${status} ${JSON.stringify(body)}`, async ({ make, live, other }) => {
    let isCaptive = false
    const client = await live(make({
      random: () => 0,
      fetch: (...request) => isCaptive && /actions|me$/.test(request[0]) ? Promise.resolve(Response.json(body ?? null, { status })) : fetch(...request)
    }))
    isCaptive = true
    const write = client.suite().set('x', 1)
    await eventually(() => client.state.name !== 'live')
    assert.deepEqual([client.pending.length, client.refused, client.suite().get('x')], [1, [], 1])
    isCaptive = false
    client.start()
    await write.confirmed
    assert.deepEqual((await other('/v1/defaults/standard')).values, { x: 1 })
  })
}

withUser('A new client behind a captive portal keeps the copy of its user', async ({ make, live }) => {
  const store = rows()
  const client = await live(make({ store }))
  await client.suite().set('x', 1).confirmed
  await client.stop()
  let isCaptive = true
  const again = make({ store, random: () => 0, fetch: (...request) => isCaptive ? Promise.resolve(Response.json({})) : fetch(...request) })
  again.start()
  await eventually(() => again.state.name === 'offline')
  assert.equal(again.suite().get('x'), 1)
  isCaptive = false
  await again.suite().set('y', 2).confirmed
})

withUser('A refusal has a short text for users, and a precise one for developers', async ({ make, live }) => {
  const client = await live(make())
  const error = await client.list('favorites').move('none', 0).confirmed.catch(error => error)
  assert.equal(error.title, error.problem.title)
  assert.equal(error.message, error.problem.detail)
  assert.equal(client.refused[0].title, error.problem.title)
})

withUser('Each request has an abort signal of its own, because fetch keeps listeners as long as a signal lives', async ({ make, live }) => {
  const signals = []
  const client = await live(make({ fetch: (url, request) => {
    signals.push(request.signal)
    return fetch(url, request)
  } }))
  await Promise.all([1, 2, 3].map(value => client.suite().set('x', value).confirmed))
  assert.ok(signals.length > 3)
  assert.equal(new Set(signals).size, signals.length)
  await client.stop()
  assert.ok(signals.every(({ aborted }) => aborted))
})
