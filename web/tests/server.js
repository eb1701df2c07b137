// Starts the server for tests: the binary in LOCKSTEP_BINARY, on a free port, with a store of its own.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

export class Server {
  static async start(options = []) {
    const server = new Server()
    server.folder = await mkdtemp(join(tmpdir(), 'lockstep-web-'))
    server.options = options
    await server.run()
    return server
  }

  /** Starts the process, on the same port as before. Another process may have the port for a while. */
  async run() {
    for (let attempt = 1; ; attempt++) {
      try { return await this.#run() } catch (error) {
        if (!this.url || attempt === 240) throw error
        await new Promise(resolve => setTimeout(resolve, 250))
      }
    }
  }

  async #run() {
    const data = join(this.folder, 'lockstep.db')
    const port = this.url ? new URL(this.url).port : '0'
    this.process = spawn(process.env.LOCKSTEP_BINARY, ['serve', '--port', port, '--data', data, '--log-level', 'error', ...this.options], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    this.url = await new Promise((resolve, reject) => {
      let text = ''
      this.process.stdout.on('data', data => {
        text += data
        const found = /http:\/\/\S+/.exec(text)
        if (found) resolve(found[0])
      })
      this.process.on('exit', code => reject(new Error(`the server ended with ${code}`)))
    })
  }

  /** Copies the store to a file that `restore()` can put back. */
  backup(name) {
    this.#command('backup', '--to', join(this.folder, name))
  }

  /** Puts a backup back while the server is down, and starts the server again. */
  async restore(name) {
    await this.end()
    this.#command('restore', '--from', join(this.folder, name), '--force')
    await this.run()
  }

  #command(name, ...options) {
    const data = join(this.folder, 'lockstep.db')
    execFileSync(process.env.LOCKSTEP_BINARY, [name, '--data', data, ...options], { stdio: ['ignore', 'ignore', 'pipe'] })
  }

  async end(signal = 'SIGTERM') {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    const ended = new Promise(resolve => this.process.on('exit', resolve))
    this.process.kill(signal)
    await ended
  }

  async stop() {
    await this.end()
    await rm(this.folder, { recursive: true })
  }

  async request(token, path, method = 'GET', body) {
    const response = await fetch(this.url + path, {
      method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body)
    })
    const text = await response.text()
    return text && JSON.parse(text)
  }
}

/** Random numbers from a seed (mulberry32): `random(limit)` is a whole number below the limit. */
export function randomNumbers(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  return limit => Math.floor(next() * limit)
}

/** Waits until a condition holds. */
export async function eventually(condition, what = condition.toString(), seconds = Number(process.env.PATIENCE ?? 120)) {
  const end = Date.now() + seconds * 1_000
  while (!await condition()) {
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** Waits until `read()` returns an equal value. */
export async function eventuallyEqual(read, expected, what) {
  await eventually(() => isDeepStrictEqual(read(), expected), what)
    .catch(error => { throw new Error(`${error.message}\n${JSON.stringify(read())}\n${JSON.stringify(expected)}`) })
}

/** A store that outlives its client, as a file or IndexedDB does. */
export function rows() {
  const kept = new Map()
  return {
    kept,
    read: async key => kept.has(key) ? JSON.parse(kept.get(key)) : undefined,
    write: async changes => {
      for (const [key, value] of changes) value === undefined ? kept.delete(key) : kept.set(key, JSON.stringify(value))
    }
  }
}

/** A fetch to a server whose clock is ahead by `days()`, as far as its responses tell. */
export const dated = days => async (...request) => {
  const response = await fetch(...request)
  const headers = new Headers(response.headers)
  headers.set('Date', new Date(Date.now() + days() * 86_400_000).toUTCString())
  return new Response(response.body, { status: response.status, headers })
}
