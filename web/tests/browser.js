// The parts of a browser that tabs share, for tests in Node: IndexedDB and Web Locks, reduced to what
// the client uses.
const databases = new Map()

/** The connections to databases, in the order in which tabs have opened them. */
export const connections = []

/** Connections whose transactions do not end yet. */
export const held = new Set()

/** A request or a transaction that ends with an event, later. */
function later(object, name, prepare = () => {}, connection) {
  const end = () => {
    if (held.has(connection)) return void setTimeout(end, 1)
    prepare()
    object[name]?.()
  }
  setTimeout(end, 1)
  return object
}

const indexedDB = {
  open(name) {
    const isNew = !databases.has(name)
    if (isNew) databases.set(name, new Map())
    const rows = databases.get(name)
    const database = {
      createObjectStore() {},
      transaction() {
        if (database.isClosed) throw new DOMException('The database connection is closing', 'InvalidStateError')
        const changes = []
        const transaction = {
          objectStore: () => ({
            get: key => ({ result: structuredClone(rows.get(key)) }),
            getAll: ([from, to]) => ({
              result: structuredClone([...rows.keys()].filter(key => key >= from && key <= to).sort().map(key => rows.get(key)))
            }),
            put(value, key) { changes.push([key, structuredClone(value)]) },
            delete(key) { changes.push([key, undefined]) }
          })
        }
        return later(transaction, 'oncomplete', () => {
          for (const [key, value] of changes) value === undefined ? rows.delete(key) : rows.set(key, value)
        }, database)
      }
    }
    connections.push(database)
    const request = { result: database }
    return later(request, 'onsuccess', () => isNew && request.onupgradeneeded())
  }
}

class Locks {
  #holders = new Map()
  #queues = new Map()

  /** Responds after the messages that the tab already has. */
  async query() { for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve)) }

  async request(name, { ifAvailable, steal, signal }, body) {
    const queue = this.#queues.get(name) ?? this.#queues.set(name, []).get(name)
    const abort = () => new DOMException('aborted', 'AbortError')
    if (steal) {
      const rob = this.#holders.get(name)
      thefts.count++
      rob?.(abort())
      this.#holders.delete(name)
    } else if (this.#holders.has(name) || queue.length) {
      if (ifAvailable) return body(null)
      await new Promise((resolve, reject) => {
        queue.push(resolve)
        signal?.addEventListener('abort', () => {
          const place = queue.indexOf(resolve)
          if (place < 0) return
          queue.splice(place, 1)
          reject(abort())
        })
      })
    }
    let rob
    const robbed = new Promise((_, reject) => { rob = reject })
    this.#holders.set(name, rob)
    try { return await Promise.race([body({ name }), robbed]) } finally {
      if (this.#holders.get(name) === rob) {
        this.#holders.delete(name)
        // The next one holds it at once, so that no other request comes between.
        const next = queue.shift()
        if (next) {
          this.#holders.set(name, () => {})
          next()
        }
      }
    }
  }
}

/** Clears the site's data, as a user can: all rows are gone, and the open connections no longer work. */
export function clearStorage() {
  for (const rows of databases.values()) rows.clear()
  for (const database of connections) database.isClosed = true
}

/** The keys of the rows that the clients with this name have stored. */
export const storedKeys = name => [...databases].flatMap(([database, rows]) => database.endsWith(`:${name}`) ? [...rows.keys()] : [])

/** How many locks were stolen. */
export const thefts = { count: 0 }

/** The messages that tabs have sent. */
export const posted = []

/** Channels that do not get messages, as those of a frozen tab. */
export const frozen = new Set()
export const missed = []
export const channels = []

class Channel extends BroadcastChannel {
  isOpen = true

  constructor(name) {
    super(name)
    channels.push(this)
  }

  close() {
    this.isOpen = false
    super.close()
  }

  postMessage(message) {
    posted.push(message)
    super.postMessage(message)
  }

  set onmessage(listener) {
    super.onmessage = event => frozen.has(this) ? missed.push(event.data) : listener(event)
  }
}

/** Makes this process a browser. Each client is a tab. */
export function install() {
  Object.defineProperty(globalThis, 'navigator', { value: { locks: new Locks() }, configurable: true })
  const IDBKeyRange = { bound: (...range) => range }
  Object.assign(globalThis, { indexedDB, IDBKeyRange, BroadcastChannel: Channel })
}
