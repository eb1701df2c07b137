// The parts of a browser that tabs share, for tests in Node: IndexedDB and Web Locks, reduced to what
// the client uses.
const databases = new Map()

/** A request or a transaction that ends with an event, later. */
function later(object, name, prepare = () => {}) {
  setTimeout(() => {
    prepare()
    object[name]?.()
  }, 1)
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
        if (closed.size) throw new DOMException('The database connection is closing', 'InvalidStateError')
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
        })
      }
    }
    const request = { result: database }
    return later(request, 'onsuccess', () => isNew && request.onupgradeneeded())
  }
}

class Locks {
  #holders = new Map()
  #queues = new Map()

  async request(name, { ifAvailable, steal, signal }, body) {
    const queue = this.#queues.get(name) ?? this.#queues.set(name, []).get(name)
    const abort = () => new DOMException('aborted', 'AbortError')
    if (steal) {
      this.#holders.get(name)?.(abort())
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

/** If it has a member, databases are closed, as when the user clears the site's data. */
export const closed = new Set()

/** The messages that tabs have sent. */
export const posted = []

/** Channels that do not get messages, as those of a frozen tab. */
export const frozen = new Set()
export const channels = []

class Channel extends BroadcastChannel {
  constructor(name) {
    super(name)
    channels.push(this)
  }

  postMessage(message) {
    posted.push(message)
    super.postMessage(message)
  }

  set onmessage(listener) {
    super.onmessage = event => { if (!frozen.has(this)) listener(event) }
  }
}

/** Makes this process a browser. Each client is a tab. */
export function install() {
  Object.defineProperty(globalThis, 'navigator', { value: { locks: new Locks() }, configurable: true })
  const IDBKeyRange = { bound: (...range) => range }
  Object.assign(globalThis, { indexedDB, IDBKeyRange, BroadcastChannel: Channel })
}
