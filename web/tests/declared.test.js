// Clients and collections that an administrator declares without code, against the real server.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Lockstep } from '../lockstep.js'
import { Server, eventually, rows } from './server.js'

const administrator = 'administrator-token-of-32-characters'

const declarations = {
  playlist: {
    kind: 'list',
    schema: {
      type: 'object', required: ['song'], additionalProperties: false,
      properties: { song: { type: 'string' }, stars: { type: 'integer', maximum: 5 } }
    }
  },
  scores: { kind: 'map', schema: { type: 'integer', minimum: 0 } },
  entitlements: { kind: 'map', access: 'readOnly' }
}

/** Runs a test with a server that has the declarations, and with two devices of one user. */
async function withDevices(body) {
  const server = await Server.start(['--admin-token', administrator])
  const stores = [rows(), rows()]
  const devices = stores.map(store => new Lockstep(server.url, { store }))
  const admin = (path, method, value) => server.request(administrator, `/v1/admin${path}`, method, value)
  try {
    for (const [name, declaration] of Object.entries(declarations)) await admin(`/collections/${name}`, 'PUT', declaration)
    const credentials = { email: 'ada@example.com', password: 'correct horse' }
    const { token } = await devices[0].signUp(credentials)
    await devices[1].logIn(credentials)
    devices.forEach(device => device.start())
    await eventually(() => devices.every(device => device.state.name === 'live'))
    await body({ server, admin, token, stores, phone: devices[0], tablet: devices[1] })
  } finally {
    await Promise.all(devices.map(device => device.stop()))
    await server.stop()
  }
}

const titles = list => list.value.map(({ id, title }) => `${id} ${title}`)

test('A declared list is written offline as favorites are, and reaches another device', { timeout: 300_000 }, () =>
  withDevices(async ({ server, token, phone, tablet }) => {
    const [list, seen] = [phone, tablet].map(device => device.list('playlist'))
    await phone.stop()
    list.put('a', { title: 'Aria', data: { song: 'A' } })
    list.put('b', { title: 'B', data: { song: 'B', stars: 1 }, index: 0 })
    list.put('c', { title: 'C', data: { song: 'C' } })
    list.update('b', { title: 'Bolero', data: { stars: 5 } })
    list.move('a', 2)
    list.toggle('d', { data: { song: 'D' } })
    list.toggle('c')
    await list.remove('d').saved
    assert.deepEqual([titles(list), list.get('b').data], [['b Bolero', 'a Aria'], { song: 'B', stars: 5 }])
    phone.start()
    await eventually(() => !phone.pending.length && seen.value.length === 2)
    assert.deepEqual([titles(list), phone.refused], [['b Bolero', 'a Aria'], []])
    const { items } = await server.request(token, '/v1/playlist')
    await eventually(() => [list, seen].every(({ value }) => JSON.stringify(value) === JSON.stringify(items)))
    list.clear()
    assert.deepEqual(list.value, [])
    await eventually(() => !seen.value.length)
  }))

test('A declared map is written offline as a suite is, and reaches another device', { timeout: 300_000 }, () =>
  withDevices(async ({ server, token, phone, tablet }) => {
    const [map, seen] = [phone, tablet].map(device => device.map('scores'))
    await phone.stop()
    map.set('level1', 300)
    map.increment('level1', 50)
    map.merge({ level2: 7, level3: 8 })
    map.remove('level3')
    await map.increment('level4').saved
    assert.deepEqual([{ ...map.value }, map.get('level3', 0)], [{ level1: 350, level2: 7, level4: 1 }, 0])
    phone.start()
    await eventually(() => !phone.pending.length && seen.get('level4'))
    assert.deepEqual([{ ...seen.value }, phone.refused], [{ level1: 350, level2: 7, level4: 1 }, []])
    assert.deepEqual((await server.request(token, '/v1/scores')).values, { level1: 350, level2: 7, level4: 1 })
    // A transaction changes both kinds.
    await phone.transaction(t => {
      t.do('scores', 'clear')
      t.do('playlist', 'add', { id: 'a', data: { song: 'A' } })
    }).confirmed
    await eventually(() => !Object.keys(seen.value).length && tablet.list('playlist').value.length === 1)
  }))

test('A write that does not match the schema is refused with the place of each fault', { timeout: 300_000 }, () =>
  withDevices(async ({ phone }) => {
    const [list, map] = [phone.list('playlist'), phone.map('scores')]
    list.put('a', { data: { stars: 9 } })
    const last = map.increment('level1', -1)
    assert.deepEqual([list.value.length, map.get('level1')], [1, -1])
    await assert.rejects(last.confirmed, { status: 422 })
    const pointers = phone.refused.map(({ problem }) => problem.errors.map(({ pointer }) => pointer))
    assert.deepEqual(pointers, [['/actions/0/payload/data/stars', '/actions/0/payload/data/song'], ['/actions/0/payload/by']])
    assert.deepEqual([list.value, { ...map.value }], [[], {}])
  }))

test('A write to a collection that is read only is refused, and a backend\'s write arrives', { timeout: 300_000 }, () =>
  withDevices(async ({ server, admin, token, phone }) => {
    const map = phone.map('entitlements')
    await assert.rejects(map.set('platinum', true).confirmed, { status: 403 })
    assert.deepEqual([phone.refused.map(({ status }) => status), { ...map.value }], [[403], {}])
    const { id } = await server.request(token, '/v1/me')
    await admin(`/users/${id}/entitlements/pro`, 'PUT', true)
    await eventually(() => map.get('pro') === true)
  }))

test('When a collection is deleted, its pending writes are refused, and no device shows it any more', { timeout: 300_000 }, () =>
  withDevices(async ({ admin, phone, tablet }) => {
    const [list, seen] = [phone, tablet].map(device => device.list('playlist'))
    await list.put('a', { data: { song: 'A' } }).confirmed
    await eventually(() => seen.value.length === 1 && !phone.pending.length && list.value.length === 1)
    await phone.stop()
    const late = list.put('b', { data: { song: 'B' } })
    const other = phone.map('scores').set('level1', 1)
    await admin('/collections/playlist?erase=true', 'DELETE')
    await eventually(() => !seen.value.length)
    assert.equal(list.value.length, 2)
    phone.start()
    await assert.rejects(late.confirmed, { status: 422 })
    await other.confirmed
    await eventually(() => !list.value.length)
    assert.deepEqual([phone.refused[0].problem.errors[0].pointer, phone.state.name], ['/actions/0/module', 'live'])
    // When it is declared again, the app can retry the write.
    await admin('/collections/playlist', 'PUT', declarations.playlist)
    await phone.retry(phone.refused[0])
    await eventually(() => seen.value.length === 1)
    assert.deepEqual(list.value.map(({ id }) => id), ['b'])
  }))

test('A device that was offline while a list became a map, and a map a list, shows the present kinds', { timeout: 300_000 }, () =>
  withDevices(async ({ server, admin, token, stores, phone, tablet }) => {
    const writes = [phone.list('playlist').put('a', { data: { song: 'A' } }), phone.map('scores').set('level1', 1)]
    await Promise.all(writes.map(({ confirmed }) => confirmed))
    await eventually(() => tablet.list('playlist').value.length && tablet.map('scores').get('level1'))
    await tablet.stop()
    for (const [name, kind, value] of [['playlist', 'map', 1], ['scores', 'list', { title: 'B' }]]) {
      await admin(`/collections/${name}?erase=true`, 'DELETE')
      await admin(`/collections/${name}`, 'PUT', { kind })
      await server.request(token, `/v1/${name}/b`, 'PUT', value)
    }
    await eventually(() => !phone.list('playlist').value.length && !Object.keys(phone.map('scores').value).length)
    // The next version of the app, with the copy of this one.
    const updated = new Lockstep(server.url, { store: stores[1] })
    const [map, list] = [updated.map('playlist'), updated.list('scores')]
    updated.start()
    map.increment('b', 1)
    list.put('c', { title: 'C', index: 0 })
    await eventually(() => map.get('b') === 2 && list.value.map(({ title }) => title).join() === 'C,B')
    await eventually(() => phone.state.name === 'live' && !updated.pending.length)
    assert.deepEqual(updated.refused, [])
    await updated.stop()
  }))
