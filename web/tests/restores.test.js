// Random writes, failures and restored backups, with the rule that no write ever flickers.
import assert from 'node:assert/strict'
import test from 'node:test'
import { Lockstep } from '../lockstep.js'
import { Server, eventually, eventuallyEqual, randomNumbers, rows } from './server.js'

const seed = Number(process.env.LOCKSTEP_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`LOCKSTEP_TEST_SEED=${seed}`)

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** A client that keeps track of what it has shown. */
class Watched {
  constructor(client, what) {
    this.client = client
    this.what = what
    // How often restores may still take writes back: with the reset, and with the first response
    // after writes that the server confirmed and then lost.
    this.restores = 0
    this.faults = []
    client.suite().subscribe((value, { previous }) => {
      const lost = Object.keys(previous).filter(key => !Object.hasOwn(value, key))
      if (!lost.length) return
      if (this.restores) this.restores--
      else this.faults.push(`${this.what}: ${lost} vanished from ${Object.keys(previous)}`)
    })
  }
}

for (const transport of ['poll', 'events']) {
  test(`With restored backups, only a reset takes writes back (${transport})`, { timeout: 300_000 }, async () => {
    const random = randomNumbers(seed)
    const server = await Server.start()
    const made = []
    try {
      for (let round = 0; round < Number(process.env.LOCKSTEP_ROUNDS ?? 3); round++) {
        let isReliable = true
        const unreliable = async (...request) => {
          if (!isReliable && random(5) === 0) throw new TypeError('no network')
          const response = await fetch(...request)
          // The copy often lags behind the responses to writes.
          if (!isReliable && request[0].includes('/changes')) await pause(random(4) * 30)
          if (!isReliable && random(5) === 0) throw new TypeError('the response was lost')
          return response
        }
        const stores = [rows(), rows()]
        const make = index => {
          const client = new Lockstep(server.url, {
            store: stores[index], transport, fetch: unreliable, random: () => 0,
            setTimeout: (body, ms) => setTimeout(body, ms > 1_000 && ms < 40_000 ? ms / 50 : ms / 10)
          })
          made.push(client)
          return new Watched(client, `seed ${seed}, round ${round}, client ${index}`)
        }
        const watched = [make(0), make(1)]
        const email = `restored-${transport}-${round}@example.com`
        const { token } = await watched[0].client.signUp({ email, password: 'correct horse' })
        await watched[1].client.logIn({ email, password: 'correct horse' })
        for (const { client } of watched) client.start()
        await eventually(() => watched.every(({ client }) => client.state.name === 'live'))
        server.backup(`${transport}-${round}-0`)
        let backups = 1
        isReliable = false
        // The keys that the server has confirmed since the last restore.
        let era = 0
        const confirmed = new Set()
        const faults = []
        for (let step = 0; step < 60; step++) {
          const index = random(2)
          const { client } = watched[index]
          const began = era
          switch (random(10)) {
            case 0:
            case 1:
            case 2: {
              const key = `k${step}`
              client.suite().set(key, step).confirmed.then(() => { if (era === began) confirmed.add(key) }, error => faults.push(error))
              break
            }
            case 3: client.list('favorites').toggle(`f${random(4)}`); break
            case 4: client.list('favorites').move(`f${random(4)}`, random(4)); break
            case 5: client.suite().increment(`n${index}`); break
            case 6: client.transaction(t => {
              t.do('favorites', 'add', { id: `f${random(4)}`, title: 'both' })
              t.do('defaults', 'set', { key: `t${step}`, value: 'both' })
            }); break
            case 7: if (random(2)) server.backup(`${transport}-${round}-${backups++}`); break
            case 8: if (random(4) === 0) {
              era++
              confirmed.clear()
              for (const one of watched) one.restores += 2
              await server.restore(`${transport}-${round}-${random(backups)}`)
              era++
            } else if (random(3) === 0) {
              await client.stop()
              const restores = watched[index].restores
              faults.push(...watched[index].faults)
              watched[index] = make(index)
              watched[index].restores = restores
              watched[index].client.start()
            } break
            default: await pause(random(40))
          }
        }
        isReliable = true
        await eventually(() => watched.every(({ client }) => client.state.name === 'live' && !client.pending.length), 'all is sent')
        const { items } = await server.request(token, '/v1/favorites')
        const { values } = await server.request(token, '/v1/defaults/standard')
        for (const { client, what } of watched) {
          await eventually(() => JSON.stringify(client.list('favorites').value) === JSON.stringify(items), `the list of ${what}`)
          await eventuallyEqual(() => ({ ...client.suite().value }), values, `the suite of ${what}`)
          await client.stop()
        }
        for (const key of confirmed) assert.ok(Object.hasOwn(values, key), `seed ${seed}: ${key} was confirmed`)
        assert.deepEqual([...faults, ...watched.flatMap(one => one.faults)], [])
      }
    } finally {
      // A client that a failed test leaves behind would keep the process alive.
      await Promise.all(made.map(client => client.stop()))
      await server.stop()
    }
  })
}
