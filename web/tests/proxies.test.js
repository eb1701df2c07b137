// Responses that are not the server's: those of gateways, captive portals and other proxies.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Lockstep } from '../lockstep.js'
import { Model } from './model.js'
import { eventually } from './server.js'

const html = status => () => new Response('<p>Pay for this network', { status, headers: { 'Content-Type': 'text/html' } })
const json = (status, body) => () => Response.json(body, { status })

/** Runs a test with a server, and a client that follows it. */
function withClient(name, body) {
  test(name, { timeout: 60_000 }, async () => {
    const server = new Model()
    const client = new Lockstep('https://state.example', {
      token: 't', fetch: server.fetch, random: () => 0, now: () => server.now, setTimeout: (body, ms) => setTimeout(body, Math.min(ms, 2_000) / 100)
    })
    client.start()
    await eventually(() => client.state.name === 'live')
    try { await body(server, client) } finally { await client.stop() }
  })
}

const foreign = {
  ...Object.fromEntries([200, 400, 401, 403, 404, 405, 407, 410, 413, 451, 511].map(status => [`HTML with ${status}`, html(status)])),
  'an empty 201': () => new Response('', { status: 201 }),
  'an empty 204': () => new Response(null, { status: 204 }),
  'the 403 of a gateway': json(403, { message: 'Forbidden' }),
  'the 401 of a gateway': json(401, { error: 'no token' }),
  'a problem document with another status': json(403, { type: '/problems/forbidden', title: 'x', status: 404 }),
  'a problem document of another service': json(404, { type: 'about:blank', title: 'Not Found', status: 404 }),
  'a problem document without a type': json(401, { title: 'Unauthorized', status: 401 })
}

for (const [name, proxy] of Object.entries(foreign)) {
  withClient(`A client that gets ${name} tries again, and refuses no write`, async (server, client) => {
    const states = new Set()
    client.onState(({ name }) => states.add(name))
    let count = 0
    server.proxy = () => {
      count++
      return proxy()
    }
    const write = client.transaction(t => t.do('defaults', 'increment', { key: 'n', by: 1, tag: 'a' }))
    // Some attempts, each of them by the feed.
    await eventually(() => count > 4)
    server.proxy = () => undefined
    await write.confirmed
    await eventually(() => client.state.name === 'live')
    assert.deepEqual([server.values, client.refused, [...states].filter(name => !['connecting', 'live', 'offline'].includes(name))], [{ n: 1 }, [], []])
  })
}

for (const [status, name] of [[401, 'needsLogin'], [403, 'failed'], [404, 'failed']]) {
  withClient(`After a problem document of the server with ${status}, the state is ${name}`, async (server, client) => {
    server.proxy = json(status, { type: '/problems/x', title: 'The reason', status })
    await eventually(() => client.state.name === name)
    assert.deepEqual([client.state.error.status, client.state.error.title], [status, 'The reason'])
  })
}

test('A client that stops does not wait for the pause after a response', { timeout: 60_000 }, async () => {
  const server = new Model()
  for (const isEarly of [false, true]) {
    // No timer ends.
    const client = new Lockstep('https://state.example', { token: 't', fetch: server.fetch, setTimeout() {} })
    client.onState(({ name }) => { if (isEarly && name === 'live') client.stop() })
    client.start()
    await eventually(() => client.state.name === (isEarly ? 'stopped' : 'live'))
    await client.stop()
    assert.equal(client.state.name, 'stopped')
  }
})
