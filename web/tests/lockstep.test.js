// Clients against the real server.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Lockstep } from '../lockstep.js'
import { Server, eventually, eventuallyEqual, randomNumbers, rows } from './server.js'

const seed = Number(process.env.LOCKSTEP_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`LOCKSTEP_TEST_SEED=${seed}`)

let users = 0
async function signUp(server, options = {}) {
  const client = new Lockstep(server.url, { store: rows(), ...options })
  const email = `user${++users}@example.com`
  const { token } = await client.signUp({ email, password: 'correct horse', device: 'one' })
  return { client, token, email }
}

for (const transport of ['poll', 'events']) {
  test(`A write is shown at once, and reaches another device (${transport})`, { timeout: 300_000 }, async () => {
    const server = await Server.start()
    try {
      const { client: phone, email } = await signUp(server, { transport })
      const tablet = new Lockstep(server.url, { store: rows(), transport })
      await tablet.logIn({ email, password: 'correct horse' })
      phone.start()
      tablet.start()
      const seen = []
      tablet.list('favorites').subscribe((value, { changeset, origin }) => seen.push([value.length, changeset.insertions.length, origin]))
      const write = phone.list('favorites').put('photo:1', { title: 'Aurora' })
      assert.equal(phone.list('favorites').get('photo:1').title, 'Aurora')
      await write.saved
      const { results } = await write.confirmed
      assert.equal(results[0].mutations[0].type, 'inserted')
      await eventually(() => tablet.list('favorites').get('photo:1'))
      assert.deepEqual(seen, [[1, 1, 'server']])
      await eventually(() => phone.state.name === 'live' && phone.state.pending === 0)
      await Promise.all([phone.stop(), tablet.stop()])
    } finally { await server.stop() }
  })
}

test('A refused write is shown as refused, and can be retried or dismissed', { timeout: 300_000 }, async () => {
  const server = await Server.start()
  try {
    const { client } = await signUp(server)
    client.start()
    const favorites = client.list('favorites')
    await assert.rejects(favorites.move('none', 0).confirmed, { status: 404 })
    assert.equal(client.refused.length, 1)
    assert.equal(client.refused[0].problem.status, 404)
    await favorites.put('none').confirmed
    await favorites.put('other').confirmed
    await client.retry(client.refused[0])
    await eventually(() => favorites.value.map(item => item.id).join() === 'none,other' && !client.pending.length)
    await assert.rejects(favorites.remove('nothing').confirmed)
    await client.dismiss(client.refused[0])
    assert.deepEqual(client.refused, [])
    await client.stop()
  } finally { await server.stop() }
})

test('Writes survive a day offline, a restart of the client and one of the server', { timeout: 300_000 }, async () => {
  const server = await Server.start()
  try {
    const store = rows()
    const { client, token } = await signUp(server, { store })
    client.start()
    await eventually(() => client.state.name === 'live')
    await server.end('SIGKILL')
    await eventually(() => client.state.name === 'offline')
    const first = client.list('favorites').put('a')
    const second = client.suite().increment('opened', 2)
    await Promise.all([first.saved, second.saved])
    assert.equal(client.state.pending, 2)
    await client.stop()

    const again = new Lockstep(server.url, { store })
    again.start()
    await eventually(() => again.pending.length === 2)
    assert.deepEqual([again.list('favorites').value.length, again.suite().get('opened')], [1, 2])
    assert.equal(await again.suite().set('late', 1).cancel(), true)
    await server.run()
    await eventually(() => again.state.name === 'live' && !again.pending.length)
    const { values } = await server.request(token, '/v1/defaults/standard')
    assert.deepEqual(values, { opened: 2 })
    await again.stop()
  } finally { await server.stop() }
})

test('A conflict is resolved by the app', { timeout: 300_000 }, async () => {
  const server = await Server.start()
  try {
    const { client, token } = await signUp(server)
    client.start()
    const profile = client.map('profile')
    await profile.save({ companyName: 'Ours' }).confirmed
    await eventually(() => client.pending.length === 0 && profile.isReady)
    await client.stop()
    await server.request(token, '/v1/profile', 'PATCH', { companyName: 'Theirs' })
    const write = profile.save({ companyName: 'Mine', position: 'Pilot' }, {
      ifUnchanged: true,
      resolve: (current, mine) => [{ ...mine[0], payload: { companyName: `${current.companyName} and ${mine[0].payload.companyName}` } }]
    })
    client.start()
    await write.confirmed
    await eventually(() => profile.value.companyName === 'Theirs and Mine')
    // The copy may not include the merged write yet, but the app has seen it.
    await profile.save({ companyName: 'x' }, { ifUnchanged: true }).confirmed
    await client.stop()
  } finally { await server.stop() }
})

test('The end of the session asks for a login, keeps the writes, and a login sends them', { timeout: 300_000 }, async () => {
  const server = await Server.start()
  try {
    const { client, token, email } = await signUp(server)
    client.start()
    await eventually(() => client.state.name === 'live')
    await fetch(`${server.url}/v1/sessions/current`, { method: 'DELETE', headers: { Authorization: `Bearer ${token}` } })
    await eventually(() => client.state.name === 'needsLogin')
    const write = client.list('favorites').put('kept')
    await write.saved
    await client.logIn({ email, password: 'correct horse' })
    await write.confirmed
    await client.logOut()
    assert.deepEqual([client.list('favorites').value, client.state.name], [[], 'needsLogin'])
    await client.stop()
  } finally { await server.stop() }
})

test('An anonymous user needs no address, and a token of an unknown issuer is refused', { timeout: 300_000 }, async () => {
  const server = await Server.start()
  try {
    const client = new Lockstep(server.url, { store: rows() })
    const { token, user } = await client.signUp({ anonymous: true, device: 'phone' })
    assert.equal(user.email, null)
    client.start()
    await client.list('favorites').put('a').confirmed
    const credentials = { email: 'ada@example.com', password: 'correct horse' }
    await server.request(token, '/v1/me/credentials', 'PUT', credentials)
    const other = new Lockstep(server.url, { store: rows() })
    await assert.rejects(other.logIn({ idToken: 'eyJhbGciOiJub25lIn0.e30.' }), error => error.status === 401)
    await other.logIn(credentials)
    other.start()
    await eventually(() => other.list('favorites').value.length === 1)
    await Promise.all([client.stop(), other.stop()])
  } finally { await server.stop() }
})

test('With random writes, failures and restarts, the view ends as the server\'s state', { timeout: 300_000 }, async () => {
  const random = randomNumbers(seed)
  const server = await Server.start()
  try {
    for (let round = 0; round < Number(process.env.LOCKSTEP_ROUNDS ?? 6); round++) {
      const stores = [rows(), rows()]
      // A request may not arrive, and its response may be lost.
      const unreliable = async (...request) => {
        if (random(4) === 0) throw new TypeError('no network')
        const response = await fetch(...request)
        if (random(4) === 0) throw new TypeError('the response was lost')
        return response
      }
      const make = index => new Lockstep(server.url, {
        store: stores[index], fetch: (...request) => isReliable ? fetch(...request) : unreliable(...request),
        random: () => 0, setTimeout: (body, ms) => setTimeout(body, ms > 1_000 && ms < 40_000 ? ms / 50 : ms / 10)
      })
      let isReliable = true
      const clients = [make(0), make(1)]
      const email = `random${round}@example.com`
      const { token } = await clients[0].signUp({ email, password: 'correct horse' })
      await clients[1].logIn({ email, password: 'correct horse' })
      clients.forEach(client => client.start())
      isReliable = false
      const ids = ['a', 'b', 'c', 'd']
      const own = [0, 0]
      for (let step = 0; step < 40; step++) {
        const which = random(2)
        const client = clients[which]
        const favorites = client.list('favorites')
        const suite = client.suite()
        const id = ids[random(4)]
        switch (random(12)) {
          case 0: favorites.put(id, { title: `t${random(3)}` }); break
          case 1: favorites.toggle(id); break
          case 2: favorites.move(id, random(4)); break
          case 3: favorites.update(id, { data: { n: random(3) } }); break
          case 4: favorites.remove(id); break
          case 5: suite.set(id, random(5)); break
          case 6: suite.merge({ [id]: null, [ids[random(4)]]: 'm' }); break
          case 7: suite.increment(`count${which}`, 1); own[which]++; break
          case 8: if (random(4) === 0) favorites.clear(); break
          case 9: client.transaction(t => {
            t.do('favorites', 'add', { id, title: 'both' })
            t.do('defaults', 'set', { key: id, value: 'both' })
          }); break
          case 10: if (random(3) === 0) {
            await client.stop()
            clients[which] = make(which)
            clients[which].start()
          } break
          case 11: await new Promise(resolve => setTimeout(resolve, random(20)))
        }
        // Increments of one client are never lost, repeated or taken back.
        const count = clients[which].suite().get(`count${which}`, 0)
        if (clients[which].suite().isReady) assert.ok(count <= own[which], `seed ${seed}, round ${round}, step ${step}: ${count} of ${own[which]}`)
      }
      isReliable = true
      await eventually(() => clients.every(client => client.state.name === 'live' && !client.pending.length), 'all is sent')
      const { items } = await server.request(token, '/v1/favorites')
      const { values } = await server.request(token, '/v1/defaults/standard')
      for (const [index, client] of clients.entries()) {
        await eventually(() => JSON.stringify(client.list('favorites').value) === JSON.stringify(items), `the list of client ${index}, seed ${seed}`)
          .catch(error => { throw new Error(`${error.message}\n${JSON.stringify(client.list('favorites').value)}\n${JSON.stringify(items)}`) })
        await eventuallyEqual(() => ({ ...client.suite().value }), values, `the suite of client ${index}, seed ${seed}`)
        assert.equal(client.suite().get(`count${index}`, 0), own[index], `seed ${seed}`)
        await client.stop()
      }
    }
  } finally { await server.stop() }
})
