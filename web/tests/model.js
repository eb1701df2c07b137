// A server in this process, with a clock and a network of its own: one user with one suite. It forgets
// keys after a day, as the server does.
const day = 86_400_000

export class Model {
  now = Date.parse('2026-11-01T00:00:00Z')
  revision = 1
  values = {}
  /** How often each write was applied, by its tag. */
  applied = new Map()
  /** For each request for a write: whether it is lost (`request`), or its response (`response`). */
  loss = () => undefined
  isReachable = true
  /** Whether responses have the field `Date`. Some proxies remove it. */
  hasDates = true
  /** The response of a proxy in front of the server, instead of the server's. */
  proxy = () => undefined
  #changed = new Map()
  #records = new Map()

  /** Another device sets a value. */
  set(key, value) {
    this.values[key] = value
    this.#changed.set(key, ++this.revision)
  }

  #write(id, actions) {
    const known = this.#records.get(id)
    if (known && this.now - known.at < day) return known.response
    const conflict = actions.find(({ payload: { key }, ifMatch }) => ifMatch && (this.#changed.get(key) ?? 0) > revisionOf(ifMatch))
    if (conflict) {
      const { key } = conflict.payload
      return { status: 412, body: { type: '/problems/conflict', title: 'Changed', status: 412, current: this.values[key] ?? null, cursor: `c.${this.revision}`, failed: 0 } }
    }
    this.revision++
    for (const { payload: { key, by, tag } } of actions) {
      this.values[key] = (this.values[key] ?? 0) + by
      this.#changed.set(key, this.revision)
      this.applied.set(tag, (this.applied.get(tag) ?? 0) + 1)
    }
    const body = { cursor: `c.${this.revision}`, results: actions.map(() => ({ mutations: [{ type: 'set' }] })) }
    const response = { status: 200, body, revision: this.revision }
    this.#records.set(id, { at: this.now, response })
    return response
  }

  #feed(since) {
    const position = { since, cursor: `c.${this.revision}`, revision: this.revision, reset: !since }
    const collection = 'defaults/standard'
    if (!since) return { ...position, keys: [], changesets: [{ collection, kind: 'map', values: this.values }] }
    const changed = [...this.#changed].filter(([, revision]) => revision > revisionOf(since)).map(([key]) => key)
    const keys = [...this.#records].filter(([, { at, response }]) => this.now - at < day && response.revision > revisionOf(since)).map(([id]) => id)
    const set = Object.fromEntries(changed.map(key => [key, this.values[key]]))
    return { ...position, keys, changesets: changed.length ? [{ collection, kind: 'map', set, removed: [] }] : [] }
  }

  fetch = async (url, { headers, body }) => {
    await new Promise(resolve => setTimeout(resolve, 1))
    if (!this.isReachable) throw new TypeError('no network')
    const foreign = this.proxy()
    if (foreign) return foreign
    const { pathname, searchParams } = new URL(url)
    const respond = ({ status = 200, body, revision = this.revision }) => Response.json(body, {
      status, headers: { ...this.hasDates && { Date: new Date(this.now).toUTCString() }, Revision: `${revision}` }
    })
    if (pathname === '/v1/me') return respond({ body: { id: 'ada' } })
    if (pathname !== '/v1/actions') return respond({ body: this.#feed(searchParams.get('since')) })
    const loss = this.loss()
    if (loss === 'request') throw new TypeError('the request was lost')
    const response = this.#write(headers['Idempotency-Key'], JSON.parse(body).actions)
    if (loss === 'response') throw new TypeError('the response was lost')
    return respond(response)
  }
}

const revisionOf = cursor => Number(cursor.slice(2))
