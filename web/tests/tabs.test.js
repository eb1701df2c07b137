// Several tabs of one browser, with a real server.
import assert from 'node:assert/strict'
import test from 'node:test'
import { channels, clearStorage, connections, frozen, held, install, missed, posted, storedKeys, thefts } from './browser.js'
import { Server, dated, eventually, eventuallyEqual, randomNumbers } from './server.js'

install()
const { Lockstep } = await import('../lockstep.js')
const seed = Number(process.env.LOCKSTEP_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`LOCKSTEP_TEST_SEED=${seed}`)
const password = 'correct horse'
const ids = tab => tab.list('favorites').value.map(item => item.id).join()

/** Whether a timer waits for a sign of life of the leading tab. */
const isSilence = ms => ms > 3_000 && ms <= 4_000

/** Timers of a tab that never stops waiting for the response of the leading tab. */
const setPatientTimeout = (body, ms) => isSilence(ms) ? undefined : setTimeout(body, ms)

const offline = () => Promise.reject(new TypeError('offline'))

/** Runs a test with a server, a function that opens tabs of one browser, and a first tab with these options. */
function withTabs(name, body, options) {
  test(name, { timeout: 300_000 }, async () => {
    const server = await Server.start()
    const tabs = []
    let connections = 0
    let isOnline = true
    const counting = async (url, request) => {
      if (!isOnline) return offline()
      if (!url.includes('/v1/changes')) return fetch(url, request)
      connections++
      try { return await fetch(url, request) } finally { connections-- }
    }
    const open = options => {
      const tab = new Lockstep(server.url, { fetch: counting, name, ...options })
      tabs.push(tab)
      return tab
    }
    const first = open(options)
    try {
      await first.signUp({ email: 'ada@example.com', password })
      await body({ server, open, first, connections: () => connections, setOnline: value => { isOnline = value } })
    } finally {
      frozen.clear()
      held.clear()
      await Promise.all(tabs.map(tab => tab.stop()))
      await server.stop()
      // Nothing that is left of a tab opens a channel again.
      assert.ok(channels.every(({ isOpen }) => !isOpen))
    }
  })
}

withTabs('Ten tabs share one connection, and all are live and see each write', async ({ open, first, connections }) => {
  const tabs = [first, ...Array.from({ length: 9 }, () => open())]
  for (const tab of tabs) tab.start()
  await eventually(() => tabs.every(tab => tab.state.name === 'live'))
  const write = tabs[5].list('favorites').put('a')
  await write.confirmed
  await eventually(() => tabs.every(tab => ids(tab) === 'a' && !tab.pending.length))
  // Between two long polls there is a short pause.
  await eventually(() => connections() === 1)
})

withTabs('A write right after the start is saved at once', async ({ first }) => {
  let saved = 0
  const write = id => first.list('favorites').put(id).saved.then(() => saved++)
  first.start()
  write('a')
  // By now, the tab waits to lead.
  await new Promise(setImmediate)
  write('b')
  await eventually(() => saved === 2)
  await first.list('favorites').put('c').confirmed
}, { setTimeout: setPatientTimeout })

withTabs('When the leading tab ends, another one leads, and sends what is pending', async ({ server, open, first }) => {
  const second = open()
  first.start()
  await eventually(() => first.state.name === 'live')
  second.start()
  await eventually(() => second.state.name === 'live')
  await server.end('SIGKILL')
  await eventually(() => second.state.name === 'offline')
  await first.list('favorites').put('one').saved
  const two = second.list('favorites').put('two')
  await two.saved
  await eventually(() => ids(first) === 'one,two' && ids(second) === 'one,two')
  await first.stop()
  await server.run()
  await two.confirmed
  await eventually(() => second.state.name === 'live' && !second.pending.length)
  assert.equal(ids(second), 'one,two')
})

withTabs('Writes of two tabs keep their order when another tab leads, also with earlier times', async ({ server, open, first }) => {
  const second = open({ now: () => Date.now() - 3_600_000 })
  first.start()
  second.start()
  await eventually(() => first.state.name === 'live' && second.state.name === 'live')
  await server.end('SIGKILL')
  await eventually(() => second.state.name === 'offline')
  await first.list('favorites').put('one').saved
  const two = second.list('favorites').put('two')
  await two.saved
  await eventually(() => ids(first) === 'one,two' && ids(second) === 'one,two')
  await first.stop()
  const third = open()
  third.start()
  await eventually(() => ids(third) === 'one,two')
  await server.run()
  await two.confirmed
  assert.equal(ids(second), 'one,two')
})

withTabs('A frozen tab loses the lead, and gets the view when it runs again', async ({ open, first }) => {
  const before = channels.length
  first.start()
  await eventually(() => first.state.name === 'live')
  const second = open()
  second.start()
  await eventually(() => second.state.name === 'live')
  const [channel] = channels.slice(before - 1)
  frozen.add(channel)
  const write = second.list('favorites').put('a')
  await write.saved
  frozen.clear()
  await write.confirmed
  await eventually(() => ids(first) === 'a' && first.state.name === 'live', 'the frozen tab')
})

withTabs('A conflict is resolved in the tab that made the write', async ({ server, open, first }) => {
  const second = open()
  first.start()
  await first.map('profile').save({ companyName: 'Ours' }).confirmed
  second.start()
  await eventually(() => second.state.name === 'live' && second.map('profile').value.companyName === 'Ours')
  const { token } = await server.request('', '/v1/sessions', 'POST', { email: 'ada@example.com', password })
  await server.end()
  await server.run()
  await server.request(token, '/v1/profile', 'PATCH', { companyName: 'Theirs' })
  const write = second.map('profile').save({ companyName: 'Mine' }, {
    ifUnchanged: true,
    resolve: (current, mine) => [{ ...mine[0], payload: { companyName: `${current.companyName} and ${mine[0].payload.companyName}` } }]
  })
  await write.confirmed
  await eventually(() => [first, second].every(tab => /Mine/.test(tab.map('profile').value.companyName)))
})

withTabs('Another user who logs in anywhere is logged in everywhere', async ({ server, open, first }) => {
  first.start()
  await first.list('favorites').put('adas').confirmed
  const second = open()
  second.start()
  await eventually(() => ids(second) === 'adas')
  await server.request('', '/v1/users', 'POST', { email: 'bob@example.com', password })
  const third = open()
  third.start()
  await third.logIn({ email: 'bob@example.com', password })
  await eventually(() => !ids(first) && !ids(second))
  await second.list('favorites').put('bobs').confirmed
  third.start()
  await eventually(() => [first, second, third].every(tab => ids(tab) === 'bobs'))
  await first.logOut()
  await eventually(() => [first, second, third].every(tab => !ids(tab) && tab.state.name === 'needsLogin'))
})

const isAccepted = (server, token) => fetch(`${server.url}/v1/me`, { headers: { Authorization: `Bearer ${token}` } }).then(({ ok }) => ok)

for (const which of [0, 1]) {
  withTabs(`A logout in the ${which ? 'second' : 'leading'} tab resolves, and ends the session and the copies of all tabs`, async ({ server, open, first }) => {
    const { token } = await first.logIn({ email: 'ada@example.com', password })
    const tabs = [first, open()]
    for (const tab of tabs) {
      tab.start()
      await eventually(() => tab.state.name === 'live')
    }
    await first.list('favorites').put('secret').confirmed
    await tabs[which].logOut()
    assert.equal(await isAccepted(server, token), false)
    await eventually(() => tabs.every(tab => !ids(tab) && !tab.user && tab.state.name === 'needsLogin'))
  })

  withTabs(`Without a network, a logout in the ${which ? 'second' : 'leading'} tab resolves, and the session ends later`, async ({ server, open, first, setOnline }) => {
    const { token } = await first.logIn({ email: 'ada@example.com', password })
    const tabs = [first, open()]
    for (const tab of tabs) {
      tab.start()
      await eventually(() => tab.state.name === 'live')
    }
    setOnline(false)
    await tabs[which].logOut()
    await eventually(() => tabs.every(tab => !tab.user && tab.state.name === 'needsLogin'))
    // The next page of the app ends the session.
    await Promise.all(tabs.map(tab => tab.stop()))
    setOnline(true)
    assert.equal(await isAccepted(server, token), true)
    open().start()
    await eventually(async () => !await isAccepted(server, token))
  })
}

withTabs('Each tab knows whose data it shows, and learns of another user before it shows their data', async ({ server, open, first }) => {
  await server.request('', '/v1/users', 'POST', { email: 'bob@example.com', password })
  const { token } = await first.logIn({ email: 'ada@example.com', password })
  first.start()
  const second = open()
  second.start()
  await eventually(() => second.user)
  assert.deepEqual([first.user, Object.keys(first.user)], [second.user, ['id', 'email', 'anonymous']])
  assert.deepEqual([first.user.email, first.user.anonymous], ['ada@example.com', false])
  await first.list('favorites').put('adas').confirmed
  await eventually(() => ids(second) === 'adas')
  const events = []
  for (const [index, tab] of [first, second].entries()) {
    tab.onUser(user => events.push(`${index} ${user?.email}`))
    tab.list('favorites').subscribe(value => events.push(`${index} ${value.map(({ id }) => id)}`))
  }
  await second.logIn({ email: 'bob@example.com', password })
  await eventually(() => [0, 1].every(index => events.includes(`${index} `)))
  for (const index of [0, 1]) assert.deepEqual(events.filter(event => event.startsWith(index)).slice(-2), [`${index} bob@example.com`, `${index} `])
  await eventually(async () => !await isAccepted(server, token), 'the former session has ended')
  await first.stop()
  await second.stop()
  const offlineTab = open({ fetch: offline })
  offlineTab.start()
  await eventually(() => offlineTab.user?.email === 'bob@example.com')
})

withTabs('A write that a tab has made for the former user is refused with the reason', async ({ server, open, first }) => {
  await server.request('', '/v1/users', 'POST', { email: 'bob@example.com', password })
  const second = open()
  for (const tab of [first, second]) {
    tab.start()
    await eventually(() => tab.state.name === 'live')
  }
  const login = first.logIn({ email: 'bob@example.com', password })
  const writes = []
  while (second.user?.email !== 'bob@example.com') {
    writes.push(second.list('favorites').put(`adas${writes.length}`))
    await new Promise(setImmediate)
  }
  await login
  await second.list('favorites').put('bobs').confirmed
  const results = await Promise.allSettled(writes.map(write => write.confirmed))
  for (const { reason } of results) if (reason) assert.match(reason.message, /another user has logged in/)
  assert.ok(results.some(({ status }) => status === 'rejected'))
  assert.deepEqual([ids(first), ids(second)], ['bobs', 'bobs'])
})

withTabs('A tab that leads again checks its token with the user of the store', async ({ server, open }) => {
  const [{ token }, { token: adas }] = await Promise.all(['bob', 'ada'].map(name => {
    const path = name === 'ada' ? '/v1/sessions' : '/v1/users'
    return server.request('', path, 'POST', { email: `${name}@example.com`, password })
  }))
  const first = open({ name: 'tokens', token: () => adas })
  first.start()
  await first.list('favorites').put('adas').confirmed
  await first.stop()
  let isOnline = true
  const second = open({ name: 'tokens', token: () => token, fetch: (...request) => isOnline ? fetch(...request) : offline() })
  second.start()
  await eventually(() => second.state.name === 'live' && !ids(second))
  isOnline = false
  await second.list('favorites').put('bobs').saved
  await second.stop()
  first.start()
  await eventually(() => first.state.name === 'live' && ids(first) === 'adas' && !first.pending.length)
  assert.deepEqual((await server.request(adas, '/v1/favorites')).items.map(({ id }) => id), ['adas'])
})

withTabs('If the storage was cleared, the writes of all tabs are rejected, and all tabs know', async ({ open, first }) => {
  const second = open()
  for (const tab of [first, second]) {
    tab.start()
    await eventually(() => tab.state.name === 'live')
  }
  clearStorage()
  for (const tab of [second, first]) {
    const write = tab.list('favorites').put('lost')
    await assert.rejects(write.saved, /closing/)
    await assert.rejects(write.confirmed)
  }
  await eventually(() => [first, second].every(tab => /closing/.test(tab.state.storeError) && !ids(tab)))
  // A tab that leads next cannot store writes either.
  await first.stop()
  await eventually(() => second.state.name === 'live')
  await assert.rejects(second.list('favorites').put('lost').saved, /closing/)
  assert.match(`${second.state.storeError}`, /closing/)
})

withTabs('A tab that was opened after the storage was cleared keeps writes as soon as it leads, and has no error', async ({ open, first }) => {
  first.start()
  await eventually(() => first.state.name === 'live')
  clearStorage()
  await assert.rejects(first.list('favorites').put('lost').saved, /closing/)
  const [second, third] = [open(), open()]
  for (const tab of [second, third]) tab.start()
  await eventually(() => second.state.storeError && third.state.storeError)
  await first.stop()
  await eventually(() => !second.state.storeError && !third.state.storeError)
  await second.list('favorites').put('kept').saved
  await second.stop()
  await eventually(() => ids(third) === 'kept')
  assert.deepEqual([second.storeError, third.storeError], [undefined, undefined])
})

/** A leading tab that gets no messages, and a second tab. */
async function withFrozenLeader({ open, first }, options) {
  const before = channels.length
  first.start()
  await eventually(() => first.state.name === 'live')
  const second = open(options)
  second.start()
  await eventually(() => second.state.name === 'live')
  frozen.add(channels[before - 1])
  thefts.count = 0
  posted.length = 0
  return second
}

withTabs('However many writes wait for a frozen tab, the lock is taken from it once', async ({ open, first, setOnline }) => {
  const second = await withFrozenLeader({ open, first })
  setOnline(false)
  const writes = Array.from({ length: 1_000 }, (_, index) => second.list('favorites').put(`${index}`))
  await Promise.all(writes.map(write => write.saved))
  assert.equal(thefts.count, 1)
  const asks = posted.filter(({ type }) => type === 'ask').length
  assert.ok(asks <= 2, `${asks} messages with commands`)
  frozen.clear()
  await eventually(() => [first, second].every(tab => tab.state.pending === 1_000))
})

withTabs('A tab that stops while a frozen tab leads stores its writes first, and leaves no timer', async ({ server, open, first }) => {
  const timers = new Set()
  const second = await withFrozenLeader({ open, first }, {
    setTimeout(body, ms) {
      const timer = setTimeout(() => {
        timers.delete(timer)
        body()
      }, ms)
      timers.add(timer)
      return timer
    },
    clearTimeout(timer) {
      timers.delete(timer)
      clearTimeout(timer)
    }
  })
  let saved = 0
  for (let count = 0; count < 3; count++) second.suite().increment('n').saved.then(() => saved++)
  await second.stop()
  assert.deepEqual([saved, thefts.count, timers.size, second.state.name], [3, 1, 0, 'stopped'])
  frozen.clear()
  await eventually(() => first.suite().get('n') === 3 && !first.pending.length)
  const { token } = await server.request('', '/v1/sessions', 'POST', { email: 'ada@example.com', password })
  assert.deepEqual((await server.request(token, '/v1/defaults/standard')).values, { n: 3 })
})

withTabs('All tabs can stop right after they have made writes, and the writes are sent later', async ({ open, first }) => {
  const tabs = [first, open(), open()]
  for (const tab of tabs) {
    tab.start()
    await eventually(() => tab.state.name === 'live')
  }
  for (let count = 1; count <= 10; count++) {
    let saved = 0
    for (const tab of tabs) {
      tab.suite().increment('n').saved.then(() => saved++)
      await new Promise(setImmediate)
    }
    await Promise.all(tabs.map(tab => tab.stop()))
    assert.deepEqual([saved, tabs.map(tab => tab.state.name)], [3, ['stopped', 'stopped', 'stopped']])
    for (const tab of tabs) tab.start()
    await eventually(() => tabs.every(tab => tab.state.name === 'live' && tab.suite().get('n') === 3 * count && !tab.pending.length))
  }
})

withTabs('A leading tab that stops and starts at once leads again', async ({ first }) => {
  first.start()
  await eventually(() => first.state.name === 'live')
  first.stop()
  first.start()
  await first.list('favorites').put('a').confirmed
})

withTabs('A write that a tab was storing when it lost the lead reaches the tab that leads now', async ({ open, first }) => {
  const place = connections.length - 1
  const second = await withFrozenLeader({ open, first })
  held.add(connections[place])
  const late = first.list('favorites').put('late')
  const early = second.list('favorites').put('early')
  await early.saved
  frozen.clear()
  held.clear()
  await late.saved
  await late.confirmed
  await eventually(() => [first, second].every(tab => ids(tab) === 'early,late' && !tab.pending.length))
})

withTabs('A retry that a tab was storing when it lost the lead is applied once', async ({ open, first }) => {
  const place = connections.length - 1
  first.start()
  await first.suite().set('n', 'a text').confirmed
  await assert.rejects(first.suite().increment('n').confirmed)
  await first.suite().set('n', 0).confirmed
  const second = await withFrozenLeader({ open, first })
  held.add(connections[place])
  const retried = first.retry(first.refused[0])
  await second.suite().set('other', 1).saved
  frozen.clear()
  held.clear()
  await retried
  await eventually(() => second.suite().get('n') === 1)
  // A tab that is opened later sends what the first tab has stored last.
  await Promise.all([first, second].map(tab => tab.stop()))
  const third = open()
  third.start()
  await eventually(() => third.state.name === 'live' && !third.pending.length)
  assert.equal(third.suite().get('n'), 1)
})

/** Runs a test with two tabs without a network. The first one leads. */
function withOfflineTabs(name, body, options) {
  test(name, { timeout: 60_000 }, async () => {
    const tabs = [{}, options].map(options => new Lockstep('https://state.example', { name, token: 't', fetch: offline, ...options }))
    try {
      for (const tab of tabs) {
        tab.start()
        await eventually(() => tab.state.name === 'offline')
      }
      thefts.count = posted.length = 0
      await body(...tabs)
    } finally {
      delete posted.push
      frozen.clear()
      await Promise.all(tabs.map(tab => tab.stop()))
    }
  })
}

withOfflineTabs('Writes that a tab makes in a loop take one message, and so does the response', async (first, second) => {
  const writes = Array.from({ length: 1_000 }, (_, index) => second.list('favorites').put(`${index}`))
  await Promise.all(writes.map(write => write.saved))
  await eventually(() => first.state.pending === 1_000)
  const count = isCounted => posted.filter(isCounted).length
  assert.deepEqual([count(({ type }) => type === 'ask'), count(({ answers }) => answers), count(({ rows }) => rows?.length)], [1, 1, 1])
}, { setTimeout: setPatientTimeout })

let silenceTimer
withOfflineTabs('A tab whose own thread was blocked takes no lock from a tab that has responded', async (first, second) => {
  // The timer is due when the leading tab responds, and runs before the message is handled.
  posted.push = message => { if (message.answers) silenceTimer() }
  await second.list('favorites').put('a').saved
  for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate)
  assert.equal(thefts.count, 0)
}, { setTimeout: (body, ms) => isSilence(ms) ? silenceTimer = body : setTimeout(body, ms) })

withOfflineTabs('A tab that has missed messages asks for the copy once', async (first, second) => {
  frozen.add(channels.at(-1))
  const writes = Array.from({ length: 50 }, (_, index) => first.list('favorites').put(`${index}`))
  await Promise.all(writes.map(write => write.saved))
  await eventually(() => missed.some(({ rows }) => rows?.length === 50))
  frozen.clear()
  posted.length = 0
  // Each of them sends a message.
  await Promise.all(writes.slice(1).map(write => write.cancel()))
  await eventually(() => second.state.pending === 1)
  assert.equal(posted.filter(({ type }) => type === 'hello').length, 1)
})

withTabs('A message to the other tabs has only what has changed, however long the outbox is', async ({ open, first, setOnline }) => {
  const second = open()
  for (const tab of [first, second]) {
    tab.start()
    await eventually(() => tab.state.name === 'live')
  }
  const written = index => first.suite().set(`key${index}`, index)
  const writes = Array.from({ length: 300 }, (_, index) => written(index))
  await writes[299].confirmed
  await eventually(() => second.suite().get('key299') === 299)
  setOnline(false)
  await eventually(() => second.state.name === 'offline')
  const last = Array.from({ length: 300 }, (_, index) => written(index + 300)).at(-1)
  await last.saved
  await eventually(() => second.pending.length === 300)
  posted.length = 0
  setOnline(true)
  await last.confirmed
  await eventually(() => !second.pending.length && second.suite().get('key599') === 599)
  const entries = posted.map(({ rows = [] }) => rows.length)
  assert.ok(entries.length >= 300)
  // A document of the feed may include many writes at once. Each write is in three messages at most.
  assert.ok(entries.reduce((sum, count) => sum + count) <= 1_200, `${entries}`)
})

withTabs('With random writes, tabs and failures, no write flickers in any tab', async ({ server, open, first }) => {
  const random = randomNumbers(seed)
  let isReliable = false
  const unreliable = async (...request) => {
    if (!isReliable && random(6) === 0) throw new TypeError('no network')
    const response = await fetch(...request)
    if (!isReliable && random(6) === 0) throw new TypeError('the response was lost')
    return response
  }
  const faults = []
  const start = number => {
    const tab = open({
      fetch: unreliable, random: () => 0, setTimeout: (body, ms) => setTimeout(body, isSilence(ms) || ms >= 40_000 ? ms : ms > 3_000 ? ms / 50 : ms / 10)
    })
    tab.suite().subscribe((value, { previous }) => {
      const lost = Object.keys(previous).filter(key => !Object.hasOwn(value, key))
      if (lost.length) faults.push(`seed ${seed}, tab ${number}: ${lost} vanished`)
    })
    tab.start()
    return tab
  }
  const tabs = [0, 1, 2].map(start)
  let count = 3
  const confirmed = []
  const leaving = []
  for (let step = 0; step < 80; step++) {
    const index = random(tabs.length)
    const tab = tabs[index]
    switch (random(6)) {
      case 0:
      case 1: confirmed.push(tab.suite().set(`k${step}`, step).saved); break
      case 2: confirmed.push(tab.suite().increment('n').saved); break
      case 3: tab.list('favorites').toggle(`f${random(3)}`); break
      case 4: if (random(4) === 0) {
        await Promise.all(confirmed)
        leaving.push(tab.stop())
        tabs[index] = start(count++)
      } break
      default: await new Promise(resolve => setTimeout(resolve, random(30)))
    }
  }
  await Promise.all([...confirmed, ...leaving])
  isReliable = true
  await eventually(() => tabs.every(tab => tab.state.name === 'live' && !tab.pending.length), 'all is sent')
  const { token } = await server.request('', '/v1/sessions', 'POST', { email: 'ada@example.com', password })
  const { values } = await server.request(token, '/v1/defaults/standard')
  const { items } = await server.request(token, '/v1/favorites')
  for (const tab of tabs) {
    await eventually(() => ids(tab) === items.map(item => item.id).join(), `seed ${seed}`)
    await eventuallyEqual(() => ({ ...tab.suite().value }), values, `seed ${seed}`)
  }
  assert.deepEqual(faults, [])
})

/** Tabs of a browser without Web Locks. */
async function withoutLocks(body) {
  const { locks } = navigator
  delete navigator.locks
  try { await body() } finally { navigator.locks = locks }
}

withTabs('Without Web Locks, a write that another tab has sent a day ago is refused', async ({ open }) => withoutLocks(async () => {
  let days = 0
  let isOnline = false
  const fetch = dated(() => days)
  const first = open({ name: 'alone', fetch: async (...request) => {
    if (!isOnline && request[0].endsWith('/actions')) return offline()
    const response = await fetch(...request)
    if (!request[0].includes('/changes')) return response
    const document = await response.json()
    // The server may no longer know the key.
    return Response.json({ ...document, keys: [] }, { headers: response.headers })
  } })
  await first.logIn({ email: 'ada@example.com', password })
  first.start()
  await eventually(() => first.state.name === 'live')
  const write = first.suite().increment('n')
  await write.saved
  await first.stop()
  const second = open({ name: 'alone', fetch })
  second.start()
  await eventually(() => second.state.name === 'live' && second.suite().get('n') === 1 && !second.pending.length)
  await second.suite().set('after', 1).confirmed
  await eventually(() => !storedKeys('alone').some(key => key.startsWith('o:')))
  days = 1.2
  isOnline = true
  first.start()
  await assert.rejects(write.confirmed, { status: 0 })
}))

withTabs('Without Web Locks, a logout in one tab removes the writes of all tabs', async ({ open }) => withoutLocks(async () => {
  const fetchRest = (...request) => request[0].endsWith('/actions') ? offline() : fetch(...request)
  const [first, second] = [0, 1].map(() => open({ name: 'two', fetch: fetchRest }))
  await first.logIn({ email: 'ada@example.com', password })
  await second.logIn({ email: 'ada@example.com', password })
  await second.list('favorites').put('of the second').saved
  await first.logOut()
  await second.stop()
  await first.logIn({ email: 'ada@example.com', password })
  const third = open({ name: 'two' })
  third.start()
  await eventually(() => third.state.name === 'live')
  assert.deepEqual([third.pending, ids(third)], [[], ''])
}))
