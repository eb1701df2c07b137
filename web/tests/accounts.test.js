// Sign-up, login and logout: a user's copy and outbox belong to this user.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Lockstep } from '../lockstep.js'
import { Server, eventually, rows } from './server.js'

const password = 'correct horse'
const clients = []

function make(server, options) {
  const client = new Lockstep(server.url, options)
  clients.push(client)
  return client
}

// A client that a failed test leaves behind would keep the process alive.
test.afterEach(() => Promise.all(clients.splice(0).map(client => client.stop())))

/** Runs a test with a server and its users Ada and Bob. */
function withUsers(name, body) {
  test(name, { timeout: 300_000 }, async () => {
    const server = await Server.start()
    try {
      const enter = (path, email, word = password) => server.request('', path, 'POST', { email, password: word })
      const users = await Promise.all(['ada', 'bob'].map(async name => {
        const email = `${name}@example.com`
        const { token } = await enter('/v1/users', email)
        return { email, password, token, favorites: async () => {
          const { token } = await enter('/v1/sessions', email).then(body => body.token ? body : enter('/v1/sessions', email, 'another horse'))
          return (await server.request(token, '/v1/favorites')).items.map(item => item.id)
        } }
      }))
      await body(server, ...users)
    } finally { await server.stop() }
  })
}

const ids = client => client.list('favorites').value.map(item => item.id)

/** A client with a confirmed write `sent` and a write `unsent` that the server does not have. */
async function withUnsent(server, user, options) {
  let isOffline = false
  const client = make(server, {
    ...options, fetch: (url, request) => isOffline && request.method === 'POST' && url.endsWith('/actions') ? Promise.reject(new TypeError('offline')) : fetch(url, request)
  })
  if (user) await client.logIn({ email: user.email, password })
  client.start()
  await client.list('favorites').put('sent').confirmed
  await eventually(() => client.state.name === 'live')
  isOffline = true
  const unsent = client.list('favorites').put('unsent')
  await unsent.saved
  await eventually(() => client.state.name === 'offline')
  return { client, unsent, goOnline: () => { isOffline = false } }
}

withUsers('After the session has ended, the same user goes on with the outbox', async (server, ada) => {
  const { client, unsent, goOnline } = await withUnsent(server, ada, { store: rows() })
  await server.request(ada.token, '/v1/me/password', 'PUT', { current: password, new: 'another horse' })
  await eventually(() => client.state.name === 'needsLogin')
  assert.deepEqual(ids(client), ['sent', 'unsent'])
  goOnline()
  await client.logIn({ email: ada.email, password: 'another horse' })
  await unsent.confirmed
  await client.stop()
})

withUsers('After the session has ended, another user gets neither the copy nor the outbox', async (server, ada, bob) => {
  const { client, unsent, goOnline } = await withUnsent(server, ada, { store: rows() })
  await server.request(ada.token, '/v1/me/password', 'PUT', { current: password, new: 'another horse' })
  await eventually(() => client.state.name === 'needsLogin')
  await client.logIn({ email: bob.email, password })
  await assert.rejects(unsent.confirmed, { status: 0 })
  goOnline()
  assert.deepEqual([ids(client), client.pending], [[], []])
  await client.list('favorites').put('bobs').confirmed
  await client.stop()
  assert.deepEqual([await ada.favorites(), await bob.favorites()], [['sent'], ['bobs']])
})

withUsers('The session of an earlier version is kept, and the client asks the server who its user is', async (server, ada) => {
  const store = rows()
  const { id } = await server.request(ada.token, '/v1/me')
  await store.write([['session', { token: ada.token, user: id }]])
  const client = make(server, { store })
  client.start()
  await client.list('favorites').put('a').confirmed
  assert.deepEqual(client.user, { id, email: ada.email, anonymous: false })
})

withUsers('A login of the same user ends the previous session', async (server, ada) => {
  const { client, unsent, goOnline } = await withUnsent(server, undefined, { store: rows(), token: ada.token })
  const credentials = { email: ada.email, password }
  const first = await client.logIn(credentials)
  const second = await client.logIn(credentials)
  const isAccepted = async token => (await fetch(`${server.url}/v1/me`, { headers: { Authorization: `Bearer ${token}` } })).ok
  await eventually(async () => !await isAccepted(first.token))
  // The client does not end the session of a token that the app has passed.
  assert.deepEqual([await isAccepted(second.token), await isAccepted(ada.token)], [true, true])
  goOnline()
  await unsent.confirmed
})

withUsers('A logout sends one request to end the session, and resolves when it has ended', async (server, ada) => {
  let deletions = 0
  const client = make(server, {
    // The client does not try again.
    setTimeout: (body, ms) => ms === 10_000 ? undefined : setTimeout(body, ms),
    async fetch(url, request) {
      if (request.method === 'DELETE') deletions++
      return fetch(url, request)
    }
  })
  client.start()
  const { token } = await client.logIn({ email: ada.email, password })
  await client.logOut()
  assert.equal(deletions, 1)
  const { status } = await fetch(`${server.url}/v1/me`, { headers: { Authorization: `Bearer ${token}` } })
  assert.equal(status, 401)
})

withUsers('A request to end a session that gets no response holds up no other one, and is repeated', async (server, ada) => {
  const isAccepted = async token => (await fetch(`${server.url}/v1/me`, { headers: { Authorization: `Bearer ${token}` } })).ok
  let hung
  let deletions = 0
  const client = make(server, {
    setTimeout: (body, ms) => setTimeout(body, [2_000, 10_000].includes(ms) ? ms / 50 : ms),
    fetch: (url, request) => {
      if (request.method !== 'DELETE') return fetch(url, request)
      const bearer = request.headers.Authorization
      hung ??= bearer
      if (bearer !== hung || ++deletions > 1) return fetch(url, request)
      return new Promise((_, reject) => { request.signal.onabort = () => reject(request.signal.reason) })
    }
  })
  client.start()
  const tokens = []
  for (let count = 0; count < 2; count++) {
    const { token } = await client.logIn({ email: ada.email, password })
    tokens.push(token)
    await client.logOut()
  }
  for (const token of tokens) await eventually(async () => !await isAccepted(token))
  assert.ok(deletions > 1)
  assert.equal(client.state.name, 'needsLogin')
})

for (const who of ['ada', 'bob']) {
  withUsers(`After a logout that keeps the copy, a login of ${who}`, async (server, ada, bob) => {
    const store = rows()
    const { client } = await withUnsent(server, ada, { store })
    await client.logOut({ keepCopy: true })
    assert.equal(client.state.name, 'needsLogin')
    await client.stop()
    const next = make(server, { store })
    await next.logIn({ email: `${who}@example.com`, password })
    next.start()
    if (who === 'ada') {
      await eventually(() => next.state.name === 'live' && !next.pending.length)
      assert.deepEqual(ids(next), ['sent', 'unsent'])
    } else {
      assert.deepEqual([ids(next), next.pending], [[], []])
      await eventually(() => next.state.name === 'live')
      assert.deepEqual([await ada.favorites(), await bob.favorites()], [['sent'], []])
    }
    await next.stop()
  })
}

withUsers('A logout wipes the store', async (server, ada) => {
  const store = rows()
  const { client } = await withUnsent(server, ada, { store })
  await client.logOut()
  await client.stop()
  assert.ok(![...store.kept.values()].join().match(/sent|token|ada@/), [...store.kept].join('\n'))
  assert.ok(!store.kept.has('copy') && !store.kept.has('own'))
})

withUsers('A response that arrives during a logout brings nothing back', async (server, ada) => {
  const store = rows()
  let isHolding, release
  const client = make(server, {
    store,
    fetch: async (url, request) => {
      const response = await fetch(url, request)
      if (isHolding && url.includes('/v1/changes')) await new Promise(resolve => { release = resolve })
      return response
    }
  })
  await client.logIn({ email: ada.email, password })
  client.start()
  await eventually(() => client.state.name === 'live')
  isHolding = true
  await server.request(ada.token, '/v1/favorites/late', 'PUT', {})
  await eventually(() => release)
  const { write } = store
  store.write = async changes => {
    release()
    await new Promise(resolve => setTimeout(resolve, 50))
    await write(changes)
  }
  await client.logOut()
  assert.deepEqual([ids(client), client.state.name], [[], 'needsLogin'])
  await client.stop()
  assert.ok(![...store.kept.values()].join().includes('late'))
})

withUsers('A connection of the former user that begins during a login brings nothing', async (server, ada, bob) => {
  const store = rows()
  let isOffline, isHolding
  const held = {}
  const hold = async name => { if (isHolding) await new Promise(resolve => { held[name] = resolve }) }
  const client = make(server, {
    random: () => 0,
    store: {
      read: async key => {
        if (key === 'outbox') await hold('read')
        return store.read(key)
      },
      write: async changes => {
        await hold('write')
        return store.write(changes)
      }
    },
    fetch: async (url, request) => {
      if (!url.includes('/v1/changes')) return fetch(url, request)
      if (isOffline) throw new TypeError('offline')
      const response = await fetch(url, request)
      await hold('feed')
      return response
    }
  })
  await client.logIn({ email: ada.email, password })
  isOffline = true
  client.start()
  await eventually(() => client.state.name === 'offline')
  await server.request(ada.token, '/v1/favorites/adas', 'PUT', {})
  isHolding = true
  const login = client.logIn({ email: bob.email, password })
  await eventually(() => held.read)
  isOffline = false
  // The client's timer begins a connection.
  await eventually(() => held.feed)
  held.read()
  await eventually(() => held.write)
  assert.equal(client.user.email, bob.email)
  const shown = []
  client.list('favorites').subscribe(() => shown.push(...ids(client)))
  isHolding = false
  held.feed()
  await new Promise(resolve => setTimeout(resolve, 50))
  held.write()
  await login
  await client.list('favorites').put('bobs').confirmed
  assert.ok(!shown.includes('adas'), shown.join())
})

withUsers("A token of another user gets neither the copy nor the outbox", async (server, ada, bob) => {
  const store = rows()
  let token = ada.token
  const { client, goOnline } = await withUnsent(server, undefined, { store, token: async () => token })
  token = bob.token
  goOnline()
  // The token changes while the client is connected.
  await eventually(() => client.state.name === 'live' && !client.pending.length && !ids(client).length)
  assert.deepEqual([await ada.favorites(), await bob.favorites()], [['sent'], []])
  await client.list('favorites').put('bobs').confirmed
  await client.stop()
  const again = make(server, { store, token: ada.token })
  again.start()
  await eventually(() => again.state.name === 'live' && ids(again).join() === 'sent')
  await again.stop()
})

withUsers('A write with ifUnchanged is refused after a change elsewhere, and is sent if there was none', async (server, ada) => {
  const client = make(server, { store: rows(), token: ada.token })
  client.start()
  const favorites = client.list('favorites')
  await favorites.put('a', { title: 'One' }).confirmed
  await favorites.put('b').confirmed
  await favorites.update('a', { title: 'Two' }, { ifUnchanged: true }).confirmed
  await client.stop()
  await server.request(ada.token, '/v1/favorites/a', 'PATCH', { title: 'Theirs' })
  const seen = []
  const writes = [
    favorites.update('a', { title: 'Mine' }, { ifUnchanged: true }),
    favorites.update('a', { title: 'Mine' }, { ifUnchanged: true, resolve: (current, mine) => { seen.push(current.title, mine[0].payload.title) } }),
    favorites.update('b', { title: 'Mine' }, { ifUnchanged: true })
  ]
  client.start()
  await assert.rejects(writes[0].confirmed, { status: 412 })
  await assert.rejects(writes[1].confirmed, { status: 412 })
  await writes[2].confirmed
  assert.deepEqual(seen, ['Theirs', 'Mine'])
  // The client has dropped the second write, because `resolve` returned nothing.
  assert.deepEqual(client.refused.map(entry => entry.status), [412])
  await eventually(() => favorites.get('a').title === 'Theirs' && favorites.get('b').title === 'Mine')
  await client.stop()
})

test('A store that refuses a write is reported, and the write is not shown', { timeout: 300_000 }, async () => {
  const server = await Server.start()
  try {
    const store = rows()
    let isFull = false
    const client = make(server, { store: {
      read: store.read, write: changes => isFull ? Promise.reject(new Error('full')) : store.write(changes)
    } })
    await client.signUp({ email: 'ada@example.com', password })
    client.start()
    await eventually(() => client.state.name === 'live')
    isFull = true
    const write = client.list('favorites').put('a')
    assert.deepEqual(ids(client), ['a'])
    await assert.rejects(write.saved, /full/)
    await assert.rejects(write.confirmed, { status: 0 })
    assert.deepEqual([ids(client), client.storeError.message, client.state.storeError.message], [[], 'full', 'full'])
    isFull = false
    await client.list('favorites').put('b').confirmed
    await client.stop()
  } finally { await server.stop() }
})

withUsers('A retried write is sent when the store has it, and stays refused if the store does not take it', async (server, ada) => {
  const store = rows()
  const posts = []
  let held
  const client = make(server, {
    token: ada.token,
    store: { read: store.read, write: async changes => {
      await held
      return store.write(changes)
    } },
    fetch: (url, request) => {
      if (url.endsWith('/actions')) posts.push(request.body)
      return fetch(url, request)
    }
  })
  client.start()
  await assert.rejects(client.list('favorites').move('none', 0).confirmed, { status: 404 })
  await eventually(() => client.state.name === 'live' && [...store.kept.values()].join().includes('refused'))
  posts.length = 0
  let fail
  held = new Promise((_, reject) => { fail = reject })
  const [refused] = client.refused
  const retried = client.retry(refused)
  // Each command starts to send the writes that the store has. It must not send this one.
  await client.dismiss({ key: 'nothing' })
  await new Promise(resolve => setTimeout(resolve, 50))
  fail(new Error('full'))
  await assert.rejects(retried, /full/)
  assert.deepEqual([posts, client.refused, client.pending], [[], [refused], []])
  held = undefined
  assert.equal(await client.retry(refused), true)
  await eventually(() => posts.length === 1 && client.refused.length === 1 && client.refused[0].key !== refused.key)
})
