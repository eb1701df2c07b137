// Lockstep's client for browsers, Node and Deno: an ES module without dependencies.
//
// It keeps a copy of the user's state, applies the app's writes to it at once, and sends them to the
// server in order. The copy and the unsent writes survive a reload, a crash and a day offline.
// The parts, from pure to impure:
//
//   apply, difference   changesets of lists and maps
//   reducers            what an action does to a list or a map, as on the server
//   next                the state machine of the connection
//   stores              IndexedDB or memory
//   Lockstep            the client: copy, outbox, connection, tabs, account

// Node 18 has it only as a module.
const crypto = globalThis.crypto ?? (await import('node:crypto')).webcrypto

const none = Object.freeze([])
const empty = Object.freeze({})

// ---- Values -------------------------------------------------------------------------------------

function freeze(value) {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}

function same(left, right) {
  if (left === right) return true
  if (left === null || right === null || typeof left !== 'object' || typeof right !== 'object') return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const names = Object.keys(left)
  return names.length === Object.keys(right).length &&
    names.every(name => Object.hasOwn(right, name) && same(left[name], right[name]))
}

/** A merge patch (RFC 7396). */
function merged(value, patch) {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch
  const result = value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {}
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete result[name]
    else set(result, name, merged(result[name], change))
  }
  return result
}

// A plain assignment to `__proto__` would change the object's prototype.
function set(object, name, value) {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

function keep(object, wanted) {
  const result = {}
  for (const name of Object.keys(object)) if (wanted(name)) set(result, name, object[name])
  return result
}

// ---- Changesets ---------------------------------------------------------------------------------

/** The value after a changeset of the feed. The value before it stays as it is. */
export function apply(value, change) {
  if (change.kind === 'map') {
    if (change.values) return freeze(change.values)
    const removed = new Set(change.removed)
    const result = keep(value, name => !removed.has(name))
    for (const name of Object.keys(change.set)) set(result, name, change.set[name])
    return freeze(result)
  }
  if (change.items) return freeze(change.items)
  const moved = change.moves.map(move => [move.to, value[move.from]])
  const gone = new Set([...change.deletions.map(at => at.index), ...change.moves.map(move => move.from)])
  const rest = gone.size ? value.filter((_, index) => !gone.has(index)) : value
  const arrivals = [...change.insertions.map(at => [at.index, at.item]), ...moved].sort((a, b) => a[0] - b[0])
  const result = new Array(rest.length + arrivals.length)
  for (let index = 0, from = 0, arrival = 0; index < result.length; index++) {
    result[index] = arrivals[arrival]?.[0] === index ? arrivals[arrival++][1] : rest[from++]
  }
  for (const { newIndex, item } of change.modifications) result[newIndex] = item
  return freeze(result)
}

/** The changeset from one value to another, with the fewest moves. */
export function difference(before, after) {
  if (!Array.isArray(after)) {
    return {
      kind: 'map',
      set: keep(after, name => !Object.hasOwn(before, name) || !same(before[name], after[name])),
      removed: Object.keys(before).filter(name => !Object.hasOwn(after, name))
    }
  }
  const places = new Map(before.map((item, index) => [item.id, index]))
  const result = { kind: 'list', deletions: [], insertions: [], moves: [], modifications: [] }
  const kept = []
  after.forEach((item, newIndex) => {
    const index = places.get(item.id)
    if (index === undefined) return result.insertions.push({ index: newIndex, item })
    places.delete(item.id)
    kept.push([index, newIndex])
    if (!same(before[index], item)) result.modifications.push({ index, newIndex, item })
  })
  for (const [id, index] of places) result.deletions.push({ index, id })
  const stay = ascending(kept)
  for (const [from, to] of kept) if (!stay.has(from)) result.moves.push({ from, to, id: after[to].id })
  result.moves.sort((a, b) => a.from - b.from)
  result.modifications.sort((a, b) => a.index - b.index)
  return result
}

/** The elements of a longest ascending subsequence: they need not move. */
function ascending(pairs) {
  const ends = []
  const previous = new Map()
  for (const [index] of pairs) {
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (ends[middle] < index) low = middle + 1
      else high = middle
    }
    previous.set(index, ends[low - 1])
    ends[low] = index
  }
  const result = new Set()
  for (let index = ends.at(-1); index !== undefined; index = previous.get(index)) result.add(index)
  return result
}

// ---- Reducers -----------------------------------------------------------------------------------

const time = now => new Date(now).toISOString()

function content(payload) {
  const result = {}
  if (payload.title != null) result.title = payload.title
  if (payload.data != null) result.data = payload.data
  return result
}

function replaced(items, index, item, now) {
  const { id, addedAt, updatedAt, ...old } = items[index]
  if (same(old, item)) return items
  const result = items.slice()
  result[index] = { id, ...item, addedAt, updatedAt: time(now) }
  return result
}

const place = (items, id) => items.findIndex(item => item.id === id)

const list = {
  add(items, { id, index, ...rest }, now) {
    const present = place(items, id)
    if (present >= 0) return replaced(items, present, content(rest), now)
    const item = { id, ...content(rest), addedAt: time(now), updatedAt: time(now) }
    return items.toSpliced ? items.toSpliced(index ?? items.length, 0, item) : splice(items, index, item)
  },
  update(items, { id, ...patch }, now) {
    const index = place(items, id)
    if (index < 0) return items
    const { id: _, addedAt, updatedAt, ...old } = items[index]
    return replaced(items, index, merged(old, keep(patch, name => name === 'title' || name === 'data')), now)
  },
  remove(items, { id }) {
    const index = place(items, id)
    return index < 0 ? items : items.filter((_, at) => at !== index)
  },
  move(items, { id, index }) {
    const from = place(items, id)
    const to = Math.min(index, items.length - 1)
    if (from < 0 || from === to) return items
    return splice(items.filter((_, at) => at !== from), to, items[from])
  },
  toggle(items, payload, now) {
    return place(items, payload.id) < 0 ? list.add(items, payload, now) : list.remove(items, payload)
  },
  clear: items => items.length ? [] : items
}

function splice(items, index, item) {
  const result = items.slice()
  result.splice(index ?? items.length, 0, item)
  return result
}

const map = {
  set: (values, { key, value }) => map.merge(values, { values: { [key]: value } }),
  remove: (values, { key }) => map.merge(values, { values: { [key]: null } }),
  merge(values, { values: changes }) {
    const result = { ...values }
    for (const key of Object.keys(changes)) {
      if (changes[key] === null) delete result[key]
      else set(result, key, changes[key])
    }
    return result
  },
  increment(values, { key, by }) {
    const value = Object.hasOwn(values, key) ? values[key] : 0
    return typeof value === 'number' ? map.merge(values, { values: { [key]: value + by } }) : values
  },
  clear: () => ({}),
  save(values, fields) {
    const trimmed = {}
    for (const name of Object.keys(fields)) trimmed[name] = typeof fields[name] === 'string' ? fields[name].trim() : fields[name]
    return { ...values, ...trimmed }
  }
}

// ---- The connection -----------------------------------------------------------------------------

/**
 * The state machine of the connection: a state and an event give the next state and the commands to
 * perform. docs/web.md has the table.
 */
export function next(state, event) {
  const go = (name, more, ...commands) => [{ name, attempt: 0, ...more }, commands]
  const stay = [state, []]
  const { name } = state
  const isUp = name === 'connecting' || name === 'live'
  const isOn = isUp || name === 'offline'
  switch (event.type) {
    case 'start': return name === 'idle' || name === 'stopped' ? go('connecting', {}, 'connect') : stay
    case 'stop': return name === 'stopped' ? stay : go('stopped', {}, 'disconnect')
    case 'response': return isUp && (name !== 'live' || state.attempt) ? go('live', {}) : stay
    case 'noResponse': {
      if (!isUp) return stay
      const { at, error } = event
      return go('offline', { attempt: state.attempt + 1, at, error }, 'disconnect', 'wait')
    }
    case 'time': return name === 'offline' ? go('connecting', { attempt: state.attempt }, 'connect') : stay
    // The network may have changed, or the computer has slept: the connection is probably gone.
    case 'online':
    case 'wake': return isOn ? go('connecting', { attempt: state.attempt }, 'disconnect', 'connect') : stay
    case 'visible': return name === 'offline' ? go('connecting', { attempt: state.attempt }, 'disconnect', 'connect') : stay
    case 'unauthorized': return isOn ? go('needsLogin', { error: event.error }, 'disconnect') : stay
    case 'refused': return isOn ? go('failed', { error: event.error }, 'disconnect') : stay
    case 'login': return name === 'idle' || name === 'stopped' ? stay : go('connecting', {}, 'disconnect', 'connect')
    default: return stay
  }
}

/** The delay before an attempt, in milliseconds: doubled each time, at most a minute, with jitter. */
function delay(attempt, random) {
  return Math.min(60_000, 500 * 2 ** Math.min(attempt, 10)) * (0.5 + random() / 2)
}

// ---- Stores -------------------------------------------------------------------------------------

function memoryStore() {
  const rows = new Map()
  return {
    read: async key => structuredClone(rows.get(key)),
    write: async changes => {
      for (const [key, value] of changes) {
        if (value === undefined) rows.delete(key)
        else rows.set(key, structuredClone(value))
      }
    },
    close() {}
  }
}

function indexedStore(name) {
  const opened = new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore('rows')
    request.onerror = () => reject(request.error)
    request.onsuccess = () => {
      request.result.onversionchange = () => request.result.close()
      resolve(request.result)
    }
  })
  opened.catch(() => {})
  return {
    async read(key) {
      const database = await opened
      return new Promise((resolve, reject) => {
        const request = database.transaction('rows').objectStore('rows').get(key)
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
    },
    async write(changes) {
      const database = await opened
      return new Promise((resolve, reject) => {
        const transaction = database.transaction('rows', 'readwrite', { durability: 'strict' })
        const rows = transaction.objectStore('rows')
        for (const [key, value] of changes) value === undefined ? rows.delete(key) : rows.put(value, key)
        transaction.oncomplete = () => resolve()
        transaction.onabort = () => reject(transaction.error ?? new Error('The browser refused the write'))
      })
    },
    close: () => opened.then(database => database.close(), () => {})
  }
}

// ---- Collections --------------------------------------------------------------------------------

/** A list or a map as the app sees it: the copy with the pending writes applied. */
class Collection {
  #client
  #listeners = new Set()
  #value
  #isStale = true

  constructor(client, module, suite, kind) {
    this.#client = client
    this.module = module
    this.suite = suite
    this.kind = kind
    this.name = suite === undefined ? module : `${module}/${suite}`
    this.subscribe = this.subscribe.bind(this)
    this.snapshot = () => this.value
  }

  /** Frozen, and the same reference until it changes. */
  get value() {
    if (this.#isStale) {
      const value = this.#client._shown(this)
      if (this.#value === undefined || !same(this.#value, value)) this.#value = freeze(value)
      this.#isStale = false
    }
    return this.#value
  }

  /** Whether there is a copy, from this device's store or from the server. */
  get isReady() { return this.#client._has(this.name) }

  /** Calls `listener(value, { previous, changeset, origin })` after each change. */
  subscribe(listener) {
    void this.value
    const entry = [listener]
    this.#listeners.add(entry)
    return () => { this.#listeners.delete(entry) }
  }

  [Symbol.iterator]() {
    return this.kind === 'list' ? this.value[Symbol.iterator]() : Object.entries(this.value)[Symbol.iterator]()
  }

  /** Notes that the copy or the pending writes changed. `changeset` leads from value to value. */
  _changed(origin, changeset) {
    if (this.#value === undefined) return
    const previous = this.#value
    this.#isStale = true
    const value = this.value
    if (value === previous) return
    let made = changeset
    const change = { previous, origin, get changeset() { return made ??= difference(previous, value) } }
    for (const [listener] of [...this.#listeners]) this.#client._call(() => listener(value, change))
  }

  _do(type, payload, options) {
    const full = this.suite === undefined ? payload : { suite: this.suite, ...payload }
    return this.#client._write([{ module: this.module, type, payload: full }], options)
  }

  clear(options) { return this._do('clear', {}, options) }
}

class List extends Collection {
  get(id) { return this.value.find(item => item.id === id) }
  put(id, content = {}, options) { return this._do('add', { ...content, id }, options) }
  update(id, patch, options) { return this._do('update', { ...patch, id }, options) }
  remove(id, options) { return this._do('remove', { id }, options) }
  move(id, index, options) { return this._do('move', { id, index }, options) }
  toggle(id, content = {}, options) { return this._do('toggle', { ...content, id }, options) }
}

class Values extends Collection {
  get(key, fallback) { return Object.hasOwn(this.value, key) ? this.value[key] : fallback }
  set(key, value, options) { return this._do('set', { key, value }, options) }
  remove(key, options) { return this._do('remove', { key }, options) }
  increment(key, by = 1, options) { return this._do('increment', { key, by }, options) }
  merge(values, options) { return this._do('merge', { values }, options) }
  save(fields, options) { return this._do('save', fields, options) }
}

// ---- Writes -------------------------------------------------------------------------------------

/** A write of the app: one or more actions that are applied together. */
class Write {
  #client
  #settle = {}

  constructor(client, entry) {
    this.#client = client
    this.key = entry.key
    for (const name of ['saved', 'confirmed']) {
      this[name] = new Promise((resolve, reject) => { this.#settle[name] = { resolve, reject } })
      // The app need not look at both promises.
      this[name].catch(() => {})
    }
  }

  /** Takes the write back. The promise is true if it was not sent yet. */
  cancel() { return this.#client._cancel(this.key) }

  _resolve(name, value) { this.#settle[name].resolve(value) }
  _reject(name, error) { this.#settle[name].reject(error) }
}

/** The server's refusal of a request: its status and its problem document. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? problem?.title ?? `The server responded with ${status}`)
    this.name = 'Refused'
    this.status = status
    this.problem = problem
  }
}

const failure = (message, problem) => Object.assign(new Error(message), { status: 0, problem })

// ---- The client ---------------------------------------------------------------------------------

const waitSeconds = 30
const silence = 45_000
const day = 86_400_000
const once = new Set(['increment', 'toggle', 'move'])

/** Keeps a copy of a user's state, and sends the user's writes. */
export class Lockstep {
  #url
  #options
  #store
  #state = { name: 'idle', attempt: 0 }
  #listeners = new Set()
  #collections = new Map()
  // The copy of the server's state, at a cursor.
  #copy = new Map()
  #position = { cursor: undefined, revision: -1 }
  // The writes that the copy does not include yet, in order.
  #outbox = []
  #number = 0
  #writes = new Map()
  #session
  #reducers
  // Running work, and the ways to end it.
  #isOn = false
  #running = new Set()
  #abort
  #timer
  #saving = Promise.resolve()
  #isDirty = new Set()
  #saveTimer
  #sending = false
  #opened
  #stopped = []
  // Other tabs.
  #channel
  #isLeader = false
  #release
  #id = randomID()
  #waiting = new Map()

  constructor(url, options = {}) {
    this.#url = String(url).replace(/\/+$/, '')
    this.#options = options
    this.#reducers = options.reducers ?? {}
    this.storeError = undefined
    this.#store = options.store
    if (!this.#store) {
      const name = `lockstep:${this.#url}:${options.name ?? ''}`
      this.#store = typeof indexedDB === 'undefined' ? memoryStore() : indexedStore(name)
    }
  }

  // Time and chance, which tests replace.
  #now() { return this.#options.now ? this.#options.now() : Date.now() }
  #random() { return (this.#options.random ?? Math.random)() }
  #after(ms, body) {
    const timer = (this.#options.setTimeout ?? setTimeout)(body, ms)
    return timer
  }
  #clear(timer) { (this.#options.clearTimeout ?? clearTimeout)(timer) }
  #pause(ms) { return new Promise(resolve => this.#after(ms, resolve)) }

  // ---- Reading ----

  list(name) { return this.#collection(name, () => new List(this, name, undefined, 'list')) }
  suite(name = 'standard') { return this.#collection(`defaults/${name}`, () => new Values(this, 'defaults', name, 'map')) }
  map(name) { return this.#collection(name, () => new Values(this, name, undefined, 'map')) }

  #collection(name, make) {
    if (!this.#collections.has(name)) this.#collections.set(name, make())
    return this.#collections.get(name)
  }

  /** `{ name, pending, at?, error? }`: `at` is the time of the next attempt. */
  get state() {
    const { name, at, error } = this.#state
    return Object.freeze({ name, pending: this.pending.length, ...(at && { at }), ...(error && { error }) })
  }

  onState(listener) {
    const entry = [listener]
    this.#listeners.add(entry)
    return () => { this.#listeners.delete(entry) }
  }

  /** The writes that the server has not confirmed, in order. */
  get pending() { return this.#entries(entry => !entry.refused && entry.revision === undefined) }

  /** The writes that the server has refused. They stay until the app retries or dismisses them. */
  get refused() { return this.#entries(entry => entry.refused) }

  #entries(wanted) {
    return Object.freeze(this.#outbox.filter(wanted).map(entry => freeze({
      key: entry.key, at: entry.at, actions: structuredClone(entry.actions), ...entry.refused && structuredClone(entry.refused)
    })))
  }

  // ---- Writing, and the connection ----

  /** Runs several actions as one write: all or none. */
  transaction(body, options) {
    const actions = []
    body({ do: (module, type, payload = {}) => { actions.push({ module, type, payload }) } })
    if (!actions.length) throw new TypeError('A transaction needs at least one action')
    return this._write(actions, options)
  }

  start() {
    if (this.#isOn) return
    this.#isOn = true
    this.#listen()
    this.#run(async () => {
      await this.#open()
      if (this.#isOn) await this.#lead()
    })
  }

  /** Ends the connection and all timers. The promise resolves when nothing runs any more. */
  async stop() {
    this.#isOn = false
    this.#dispatch({ type: 'stop' })
    for (const end of this.#stopped.splice(0)) end()
    this.#release?.()
    while (this.#running.size) await Promise.allSettled([...this.#running])
    await this.#flush()
    await this.#saving
    this.#channel?.close()
    this.#channel = undefined
    this.#isLeader = false
    this.#opened = undefined
  }

  /** Sends a refused write again, as a new one. */
  retry({ key }) { return this.#change({ type: 'retry', key }) }

  /** Forgets a refused write. */
  dismiss({ key }) { return this.#change({ type: 'dismiss', key }) }

  signUp({ email, password, device }) { return this.#enter('/v1/users', { email, password, device }) }
  logIn({ email, password, device }) { return this.#enter('/v1/sessions', { email, password, device }) }

  /** Ends the session, and removes the copy and the unsent writes from this device. */
  async logOut({ keepCopy = false } = {}) {
    await this.#open()
    const token = await this.#token().catch(() => undefined)
    if (token) await this.#request('/v1/sessions/current', { method: 'DELETE', token }).catch(() => {})
    await this.#change({ type: 'session', session: null, wipe: !keepCopy })
  }

  // ---- Writes ----

  _write(actions, options = {}) {
    // The server gets exactly what the view shows.
    const entry = { key: randomID(), at: this.#now(), actions: JSON.parse(JSON.stringify(actions)) }
    // The app has also seen its own writes that the copy does not include yet.
    const seen = this.#outbox.findLast(other => other.cursor && overlaps(other, entry))
    if (options.ifUnchanged) entry.base = seen?.cursor ?? this.#position.cursor
    const write = new Write(this, entry)
    this.#writes.set(entry.key, { write, resolve: options.resolve })
    this.#outbox.push(entry)
    this.#showEntries([entry], 'local')
    this.#change({ type: 'write', entry }).then(() => write._resolve('saved'), error => {
      this.#remove([entry.key])
      this.#reportStore(error)
      write._reject('saved', error)
      this.#settle(entry.key, { error })
    })
    return write
  }

  _cancel(key) { return this.#change({ type: 'cancel', key }) }

  /** Performs a command in the tab that leads. */
  async #change(command) {
    await this.#open()
    if (this.#isOn && this.#channel && !this.#isLeader) return this.#ask(command)
    const result = await this.#perform(command)
    this.#tell({ type: 'outbox', outbox: this.#outbox, state: this.#state })
    this.#send()
    return result
  }

  async #perform(command) {
    const entry = this.#outbox.find(entry => entry.key === command.key)
    switch (command.type) {
      case 'write': {
        const known = this.#outbox.find(entry => entry.key === command.entry.key)
        const added = known ?? command.entry
        if (!known) {
          this.#outbox.push(added)
          this.#showEntries([added], 'local')
        }
        if (added.number === undefined) {
          added.number = this.#number++
          await this.#save([added])
        }
        return true
      }
      case 'cancel': {
        if (!entry || entry.sent || entry.refused) return false
        this.#remove([entry.key], 'local')
        await this.#save([], [entry])
        this.#settle(entry.key, { error: failure('The write was cancelled') })
        return true
      }
      case 'retry':
      case 'dismiss': {
        if (!entry?.refused) return false
        this.#remove([entry.key], 'local')
        if (command.type === 'retry') {
          const again = { key: randomID(), at: this.#now(), actions: entry.actions, number: this.#number++ }
          this.#outbox.push(again)
          this.#showEntries([again], 'local')
          await this.#save([again], [entry])
        } else {
          await this.#save([], [entry])
        }
        return true
      }
      case 'session': {
        const other = command.session && this.#session?.user && command.session.user !== this.#session.user
        if (command.wipe || other) await this.#wipe()
        this.#session = command.session ?? undefined
        await this.#put([['session', this.#session]])
        if (this.#session) this.#dispatch({ type: 'login' })
        else this.#dispatch({ type: 'unauthorized' })
        this.#tell({ type: 'session', session: this.#session })
        if (command.wipe || other) this.#tell(this.#snapshot())
        return true
      }
    }
  }

  async #wipe() {
    const gone = this.#outbox
    this.#outbox = []
    const names = [...this.#copy.keys()]
    this.#copy.clear()
    this.#position = { cursor: undefined, revision: -1 }
    this.#isDirty.clear()
    for (const { key } of gone) this.#settle(key, { error: failure('The user logged out') })
    for (const collection of this.#collections.values()) collection._changed('local')
    await this.#put([
      ['copy', undefined], ['outbox', undefined], ...names.map(name => [`c:${name}`, undefined]),
      ...gone.map(entry => [`e:${entry.number}`, undefined])
    ])
  }

  #settle(key, { value, error }) {
    const known = this.#writes.get(key)
    if (known) {
      this.#writes.delete(key)
      if (error) known.write._reject('confirmed', error)
      else known.write._resolve('confirmed', value)
    }
    this.#tell({ type: 'settled', key, value, error: error && { status: error.status, problem: error.problem, message: error.message } })
  }

  /** Removes entries from the outbox, and shows the collections without them. */
  #remove(keys, origin = 'local') {
    const gone = this.#outbox.filter(entry => keys.includes(entry.key))
    this.#outbox = this.#outbox.filter(entry => !keys.includes(entry.key))
    this.#showEntries(gone, origin)
  }

  #showEntries(entries, origin) {
    const names = new Set(entries.flatMap(entry => entry.actions.map(collectionName)))
    for (const name of names) this.#collections.get(name)?._changed(origin)
    this.#reportState()
  }

  // ---- The view ----

  _has(name) { return this.#position.cursor !== undefined || this.#copy.has(name) }

  /** A collection's copy with the pending writes applied. */
  _shown(collection) {
    let value = this.#copy.get(collection.name) ?? (collection.kind === 'list' ? none : empty)
    for (const entry of this.#outbox) {
      if (entry.refused || entry.isIncluded) continue
      for (const action of entry.actions) {
        if (collectionName(action) !== collection.name) continue
        const own = this.#reducers[action.module]?.[action.type]
        const reduce = own ?? (collection.kind === 'list' ? list : map)[action.type]
        try { value = reduce?.(value, action.payload, entry.at) ?? value } catch (error) { this.#report(error) }
      }
    }
    return value
  }

  /** Calls a listener of the app. Its error must not stop the client. */
  _call(body) { try { body() } catch (error) { this.#report(error) } }

  #report(error) { (globalThis.reportError ?? console.error)(error) }

  #reportState() {
    const state = this.state
    if (same(state, this.#lastState)) return
    this.#lastState = state
    for (const [listener] of [...this.#listeners]) this._call(() => listener(state))
  }
  #lastState

  // ---- The copy ----

  /** Applies a document of the feed, and drops the writes that it includes. */
  #apply(document) {
    const before = new Set(this.#outbox.filter(entry => !entry.refused && !entry.isIncluded)
      .flatMap(entry => entry.actions.map(collectionName)))
    if (document.reset && !this.#options.collections) this.#isDirty = new Set([...this.#copy.keys(), ...this.#isDirty])
    const names = new Set(document.changesets.map(change => change.collection))
    if (document.reset) {
      for (const name of [...this.#copy.keys()]) {
        if (names.has(name)) continue
        this.#copy.delete(name)
        names.add(name)
      }
    }
    for (const change of document.changesets) {
      const value = this.#copy.get(change.collection) ?? (change.kind === 'list' ? none : empty)
      this.#copy.set(change.collection, apply(value, change))
    }
    for (const name of names) this.#isDirty.add(name)
    const wasReady = this.#position.cursor !== undefined
    this.#position = { cursor: document.cursor, revision: document.revision }
    const keys = new Set(document.keys)
    for (const entry of this.#outbox) {
      if (keys.has(entry.key)) entry.isIncluded = true
      if (entry.revision !== undefined && (document.reset || entry.revision <= document.revision)) entry.isIncluded = true
    }
    this.#drop()
    const changed = new Map(document.changesets.map(change => [change.collection, change]))
    for (const [name, collection] of this.#collections) {
      if (!names.has(name) && !before.has(name) && wasReady) continue
      const change = changed.get(name)
      collection._changed('server', before.has(name) || document.reset || change?.items || change?.values ? undefined : change)
    }
    this.#reportState()
  }

  /** Removes the writes that the copy includes and the server has answered. */
  #drop() {
    const isDone = entry => entry.isIncluded && entry.revision !== undefined
    for (const entry of this.#outbox.filter(isDone)) this.#done.push(entry)
    this.#outbox = this.#outbox.filter(entry => !isDone(entry))
    if (this.#done.length) this.#saveSoon()
  }
  #done = []

  // ---- The store ----

  #open() {
    return this.#opened ??= this.#load().catch(error => {
      // Without a store, the client works until the page is closed.
      this.#reportStore(error)
      this.#store = memoryStore()
    })
  }

  async #load() {
    const [copy, outbox, session] = await Promise.all(['copy', 'outbox', 'session'].map(key => this.#store.read(key)))
    if (session && !this.#session) this.#session = session
    if (copy && copy.revision > this.#position.revision) {
      const values = await Promise.all(copy.names.map(name => this.#store.read(`c:${name}`)))
      copy.names.forEach((name, index) => { if (values[index] !== undefined) this.#copy.set(name, freeze(values[index])) })
      // Another choice of collections needs a reset.
      const cursor = same(copy.filter, this.#filter) ? copy.cursor : undefined
      this.#position = { cursor, revision: cursor ? copy.revision : -1 }
    }
    const { first = 0, next = 0 } = outbox ?? {}
    const entries = []
    for (let number = first; number < next; number++) entries.push(await this.#store.read(`e:${number}`))
    const known = new Set([...this.#outbox, ...this.#done].map(entry => entry.key))
    this.#number = Math.max(this.#number, next)
    // They were made before those of this page.
    const stored = entries.filter(entry => entry && !known.has(entry.key))
    for (const entry of stored) delete entry.isSending
    this.#outbox = [...stored, ...this.#outbox]
    for (const collection of this.#collections.values()) collection._changed('local')
    this.#reportState()
  }

  get #filter() { return this.#options.collections ? [...this.#options.collections].sort() : null }

  /** Writes rows, one write after the other. */
  #put(rows) {
    const saved = this.#saving.then(() => this.#store.write(rows))
    this.#saving = saved.catch(() => {})
    return saved
  }

  #save(added, removed = []) {
    const numbers = this.#outbox.map(entry => entry.number).filter(number => number !== undefined)
    const range = { first: numbers.length ? Math.min(...numbers) : this.#number, next: this.#number }
    return this.#put([
      ...added.map(entry => [`e:${entry.number}`, entry]), ...removed.map(entry => [`e:${entry.number}`, undefined]),
      ['outbox', range]
    ])
  }

  #saveSoon() {
    if (this.#isLeader) this.#saveTimer ??= this.#after(300, () => this.#flush())
  }

  /** Writes the copy, its cursor, and the outbox without the writes that the copy includes. */
  async #flush() {
    this.#clear(this.#saveTimer)
    this.#saveTimer = undefined
    if (!this.#isLeader || (!this.#isDirty.size && !this.#done.length && this.#savedCursor === this.#position.cursor)) return
    const names = [...this.#copy.keys()]
    const numbers = this.#outbox.map(entry => entry.number).filter(number => number !== undefined)
    const rows = [
      ['copy', { ...this.#position, filter: this.#filter, names }],
      ['outbox', { first: numbers.length ? Math.min(...numbers) : this.#number, next: this.#number }],
      ...[...this.#isDirty].map(name => [`c:${name}`, this.#copy.get(name)]),
      ...this.#done.filter(entry => entry.number !== undefined).map(entry => [`e:${entry.number}`, undefined])
    ]
    this.#isDirty.clear()
    this.#done = []
    this.#savedCursor = this.#position.cursor
    try { await this.#put(rows) } catch (error) {
      for (const name of names) this.#isDirty.add(name)
      this.#reportStore(error)
    }
  }
  #savedCursor

  #reportStore(error) {
    this.storeError = error
    this.#reportState()
  }

  // ---- The connection ----

  #dispatch(event) {
    const [state, commands] = next(this.#state, event)
    this.#state = state
    for (const command of commands) {
      if (command === 'disconnect') this.#disconnect()
      if (command === 'connect') this.#connect()
      if (command === 'wait') this.#timer = this.#after(Math.max(0, state.at - this.#now()), () => this.#dispatch({ type: 'time' }))
    }
    this.#reportState()
    if (this.#isLeader && commands.length) this.#tell({ type: 'state', state })
  }

  #disconnect() {
    this.#clear(this.#timer)
    this.#abort?.abort()
    this.#abort = undefined
  }

  #connect() {
    const abort = this.#abort = new AbortController()
    this.#run(() => this.#follow(abort.signal))
    this.#send()
  }

  /** Runs work that `stop()` waits for. */
  #run(body) {
    const work = Promise.resolve().then(body).catch(error => this.#report(error)).finally(() => this.#running.delete(work))
    this.#running.add(work)
  }

  /** Follows the feed until the signal. */
  async #follow(signal) {
    let badRequests = 0
    while (!signal.aborted) {
      const began = this.#now()
      const isLive = this.#state.name === 'live'
      const wait = isLive ? waitSeconds : 0
      const query = new URLSearchParams()
      if (this.#position.cursor !== undefined) query.set('since', this.#position.cursor)
      if (this.#options.collections) query.set('collections', this.#filter.join(','))
      const isStream = this.#options.transport === 'events'
      if (!isStream && wait) query.set('wait', wait)
      let response
      try {
        const headers = isStream ? { Accept: 'text/event-stream' } : {}
        const path = `/v1/changes${[...query].length ? `?${query}` : ''}`
        response = await this.#request(path, { headers, signal, onEvent: isStream && (data => this.#heard(data, signal)) })
      } catch (error) {
        if (!signal.aborted) this.#lost(error)
        return
      }
      if (signal.aborted) return
      if (response.status === 200) {
        badRequests = 0
        if (isStream) return this.#lost(new Error('The stream of events ended'))
        this.#heard(response.body, signal)
        // A server that shuts down answers all waiting requests at once.
        const isEarly = isLive && !response.body.changesets.length && this.#now() - began < wait * 500
        if (isEarly) await this.#pause(this.#random() * 1_000)
      } else if (response.status === 400 && this.#position.cursor !== undefined && !badRequests++) {
        this.#position = { cursor: undefined, revision: -1 }
      } else {
        return this.#answered(response)
      }
    }
  }

  #heard(document, signal) {
    if (signal.aborted) return
    this.#dispatch({ type: 'response' })
    this.#apply(document)
    this.#tell({ type: 'document', document, outbox: this.#outbox, state: this.#state })
    this.#saveSoon()
    this.#send()
  }

  /** Handles a response that is no success. Returns whether the request may be sent again later. */
  #answered({ status, body, retryAfter }) {
    const error = new Refused(status, body)
    if (status === 401) {
      this.#dispatch({ type: 'unauthorized', error })
      return true
    }
    const isPassing = status === 408 || status === 425 || status === 429 || status >= 500
    if (isPassing) this.#lost(error, retryAfter)
    else this.#dispatch({ type: 'refused', error })
    return isPassing
  }

  #lost(error, retryAfter = 0) {
    const at = this.#now() + Math.max(delay(this.#state.attempt, () => this.#random()), retryAfter * 1_000)
    this.#dispatch({ type: 'noResponse', at, error })
  }

  /** Sends the writes in order, one at a time. */
  #send() {
    if (this.#sending || !this.#isLeader) return
    this.#sending = true
    this.#run(async () => {
      try {
        for (;;) {
          const signal = this.#abort?.signal
          const entry = this.#outbox.find(entry => !entry.refused && entry.revision === undefined && entry.number !== undefined)
          if (!entry || !signal || signal.aborted || !await this.#sendEntry(entry, signal)) return
        }
      } finally { this.#sending = false }
    })
  }

  async #sendEntry(entry, signal) {
    if (entry.sent && this.#now() - entry.sent > day && entry.actions.some(action => once.has(action.type)) && !entry.isIncluded) {
      await this.#refuse(entry, 0, { title: 'The write is older than a day, and may have been applied', status: 0 })
      return true
    }
    if (!entry.sent) {
      entry.sent = this.#now()
      await this.#save([entry])
    }
    const actions = entry.base ? entry.actions.map(action => ({ ...action, ifMatch: entry.base })) : entry.actions
    let response
    try {
      response = await this.#request('/v1/actions', { method: 'POST', body: { actions }, key: entry.key, signal })
    } catch (error) {
      if (!signal.aborted) this.#lost(error)
      return false
    }
    const { status, body } = response
    if (status === 200) {
      this.#dispatch({ type: 'response' })
      entry.revision = response.revision
      entry.cursor = body.cursor
      // A later write on top of this one has seen it.
      for (const later of this.#outbox) {
        if (later.base && later !== entry && overlaps(later, entry)) later.base = body.cursor
      }
      if (entry.revision <= this.#position.revision) entry.isIncluded = true
      await this.#save([entry])
      this.#drop()
      this.#settle(entry.key, { value: body })
      this.#tell({ type: 'outbox', outbox: this.#outbox, state: this.#state })
      this.#reportState()
      return true
    }
    // Another request with this key is still running.
    if (status === 409 && body?.detail?.includes('Idempotency-Key')) {
      this.#lost(new Refused(status, body), response.retryAfter)
      return false
    }
    if (status === 401 || status === 408 || status === 425 || status === 429 || status >= 500 && status !== 507) {
      this.#answered(response)
      return false
    }
    const resolve = this.#writes.get(entry.key)?.resolve
    if (status === 412 && resolve && entry.base) {
      const actions = await resolve(body.current, structuredClone(entry.actions))
      if (actions) {
        // A new key, because this is another request.
        const again = { ...entry, key: randomID(), actions: JSON.parse(JSON.stringify(actions)), base: body.cursor, sent: undefined }
        const known = this.#writes.get(entry.key)
        this.#writes.delete(entry.key)
        this.#writes.set(again.key, known)
        known.write.key = again.key
        this.#outbox[this.#outbox.indexOf(entry)] = again
        await this.#save([again])
        this.#showEntries([entry, again], 'local')
        return true
      }
    }
    await this.#refuse(entry, status, body)
    return true
  }

  async #refuse(entry, status, problem) {
    entry.refused = { status, problem }
    this.#showEntries([entry], 'server')
    await this.#save([entry])
    this.#settle(entry.key, { error: new Refused(status, problem) })
    this.#tell({ type: 'outbox', outbox: this.#outbox, state: this.#state })
  }

  // ---- Requests ----

  async #token() {
    if (this.#session) return this.#session.token
    const { token } = this.#options
    return typeof token === 'function' ? await token() : token
  }

  async #request(path, { method = 'GET', body, key, headers = {}, signal, token, onEvent } = {}) {
    const bearer = token ?? await this.#token()
    if (!bearer && token !== null) return { status: 401, body: { title: 'Not logged in', status: 401 } }
    const abort = new AbortController()
    const end = () => abort.abort()
    if (signal?.aborted) end()
    signal?.addEventListener('abort', end)
    // Silence for 45 seconds ends the request: the connection is dead.
    let timer
    const heard = () => {
      this.#clear(timer)
      timer = this.#after(silence, end)
    }
    heard()
    try {
      const response = await (this.#options.fetch ?? fetch)(this.#url + path, {
        method, signal: abort.signal, cache: 'no-store', credentials: 'omit',
        headers: {
          ...headers, ...bearer && { Authorization: `Bearer ${bearer}` }, ...key && { 'Idempotency-Key': key },
          ...body && { 'Content-Type': 'application/json' }
        },
        ...body && { body: JSON.stringify(body) }
      })
      if (onEvent && response.ok) await readEvents(response.body, heard, onEvent)
      const text = onEvent && response.ok ? '' : await response.text()
      const revision = response.headers.get('Revision')
      return {
        status: response.status,
        body: text && /json/.test(response.headers.get('Content-Type') ?? '') ? JSON.parse(text) : undefined,
        revision: revision === null ? undefined : Number(revision),
        retryAfter: Number(response.headers.get('Retry-After') ?? 0) || 0
      }
    } finally {
      this.#clear(timer)
      signal?.removeEventListener('abort', end)
    }
  }

  async #enter(path, credentials) {
    const response = await this.#request(path, { method: 'POST', body: credentials, token: null, key: randomID() })
    if (response.status !== 201) throw new Refused(response.status, response.body)
    const { token, user } = response.body
    await this.#change({ type: 'session', session: { token, user: user.id } })
    return response.body
  }

  // ---- Tabs ----

  /** Waits for the lock that one tab holds, and leads from then on. */
  async #lead() {
    const locks = globalThis.navigator?.locks
    if (!locks || this.#options.store || typeof BroadcastChannel === 'undefined') return this.#begin()
    const name = `lockstep:${this.#url}:${this.#options.name ?? ''}`
    this.#channel = new BroadcastChannel(name)
    this.#channel.onmessage = ({ data }) => this.#receive(data)
    this.#channel.postMessage({ type: 'hello' })
    this.#seek(locks, name, {})
  }

  #seek(locks, name, options) {
    const abort = new AbortController()
    this.#stopped.push(() => abort.abort())
    this.#run(async () => {
      try {
        await locks.request(name, options.steal ? options : { signal: abort.signal }, async () => {
          if (!this.#isOn) return
          const released = new Promise(resolve => { this.#release = resolve })
          await this.#load()
          await this.#begin()
          await released
        })
      } catch {
        // This tab stops, or another tab has taken over because this one did not answer.
        if (!this.#isOn) return
        this.#isLeader = false
        this.#dispatch({ type: 'stop' })
        this.#seek(locks, name, {})
      }
    })
  }

  async #begin() {
    if (!this.#isOn) return
    this.#isLeader = true
    if (this.#state.name !== 'idle') this.#state = { name: 'stopped', attempt: 0 }
    this.#dispatch({ type: 'start' })
    this.#tell(this.#snapshot())
  }

  #tell(message) {
    if (this.#channel && this.#isLeader) this.#channel.postMessage(message)
  }

  #snapshot() {
    return { type: 'snapshot', copy: [...this.#copy], position: this.#position, outbox: this.#outbox, state: this.#state, session: this.#session }
  }

  /** Asks the tab that leads to perform a command. If it does not answer, this tab takes the lead. */
  async #ask(command) {
    const id = randomID()
    for (let attempt = 0; ; attempt++) {
      if (this.#isLeader || !this.#channel) return this.#perform(command).finally(() => this.#send())
      const answer = await new Promise(resolve => {
        const timer = this.#after(3_000, () => resolve(undefined))
        this.#waiting.set(id, answer => {
          this.#clear(timer)
          resolve(answer)
        })
        this.#channel.postMessage({ type: 'ask', id, command })
      })
      this.#waiting.delete(id)
      if (answer?.error) throw failure(answer.error)
      if (answer) return answer.value
      if (!this.#isOn) throw failure('The client has stopped')
      const name = `lockstep:${this.#url}:${this.#options.name ?? ''}`
      this.#seek(navigator.locks, name, { steal: true })
    }
  }

  #receive(message) {
    switch (message.type) {
      case 'hello': return this.#tell(this.#snapshot())
      case 'ask':
        if (!this.#isLeader) return
        return this.#change(message.command).then(
          value => this.#tell({ type: 'answer', id: message.id, value }),
          error => this.#tell({ type: 'answer', id: message.id, error: String(error?.message ?? error) })
        )
      case 'answer': return this.#waiting.get(message.id)?.(message)
    }
    if (this.#isLeader) return
    if (message.type === 'settled') {
      const { status, problem, message: text } = message.error ?? {}
      const error = message.error && (status ? new Refused(status, problem) : failure(text))
      return this.#settle(message.key, { value: message.value, error })
    }
    if (message.type === 'session') {
      this.#session = message.session ?? undefined
      return
    }
    this.#state = message.state
    if (message.outbox) this.#merge(message.outbox)
    if (message.type === 'snapshot') {
      this.#session = message.session
      this.#copy = new Map(message.copy.map(([name, value]) => [name, freeze(value)]))
      this.#position = message.position
      for (const collection of this.#collections.values()) collection._changed('server')
    }
    if (message.type === 'document') {
      const { document } = message
      if (document.reset || document.since === this.#position.cursor) this.#apply(document)
      else this.#channel.postMessage({ type: 'hello' })
    }
    this.#reportState()
  }

  /** Takes the leader's outbox, and keeps the writes of this tab that the leader does not have yet. */
  #merge(outbox) {
    const known = new Set(outbox.map(entry => entry.key))
    const own = this.#outbox.filter(entry => entry.number === undefined && !known.has(entry.key) && this.#writes.has(entry.key))
    const before = this.#outbox
    this.#outbox = [...outbox, ...own]
    this.#showEntries([...before, ...this.#outbox], 'server')
  }

  // ---- Wake-ups ----

  /** Listens for signs that the connection may be gone. */
  #listen() {
    const on = (target, name, body) => {
      target?.addEventListener?.(name, body)
      this.#stopped.push(() => target?.removeEventListener?.(name, body))
    }
    const page = globalThis.document
    on(globalThis, 'online', () => this.#wake('online'))
    on(globalThis, 'pagehide', () => this.#flush())
    on(page, 'visibilitychange', () => this.#wake(page.visibilityState === 'visible' ? 'visible' : ''))
    // After sleep, the clock has jumped.
    let last = this.#now()
    let timer
    const tick = () => {
      const now = this.#now()
      if (Math.abs(now - last) > 40_000) this.#wake('wake')
      last = now
      timer = this.#after(10_000, tick)
    }
    timer = this.#after(10_000, tick)
    this.#stopped.push(() => this.#clear(timer))
  }

  #wake(type) {
    if (this.#isLeader && type) this.#dispatch({ type })
    if (type === '' ) this.#flush()
  }
}

const collectionName = ({ module, payload }) => module === 'defaults' ? `defaults/${payload.suite ?? 'standard'}` : module

const subject = action => `${collectionName(action)} ${action.payload.id ?? action.payload.key ?? ''}`

function overlaps(left, right) {
  const subjects = new Set(right.actions.map(subject))
  return left.actions.some(action => subjects.has(subject(action)))
}

// `crypto.randomUUID` is missing on pages without TLS.
function randomID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Reads server-sent events. `heard` is called for each arrival, `onEvent` with each document. */
async function readEvents(body, heard, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    heard()
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) {
      const data = block.split('\n').filter(line => line.startsWith('data: ')).map(line => line.slice(6)).join('\n')
      if (data) onEvent(JSON.parse(data))
    }
  }
}
