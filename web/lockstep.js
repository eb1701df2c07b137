// Types: lockstep.d.ts. How it works: README.md.

const none = Object.freeze([])
const empty = Object.freeze({})

const isObject = value => value && typeof value === 'object'
const isPlain = value => isObject(value) && !Array.isArray(value)
const like = (start, value = start) => isPlain(value) === isPlain(start) ? value : start
const clone = value => JSON.parse(JSON.stringify(value))

function freeze(value) {
  if (isObject(value) && !Object.isFrozen(value)) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}

const updated = (old, value) => same(old, value) ? old : freeze(value)

function same(left, right) {
  if (left === right) return true
  if (!isObject(left) || !isObject(right) || isPlain(left) !== isPlain(right)) return false
  if (!isPlain(left)) return left.length === right.length && left.every((item, index) => same(item, right[index]))
  const names = Object.keys(left)
  return names.length === Object.keys(right).length &&
    names.every(name => Object.hasOwn(right, name) && same(left[name], right[name]))
}

const mapped = (object, change) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]))
const keep = (object, wanted) => Object.fromEntries(Object.entries(object).filter(([name]) => wanted(name)))

function changed(object, changes) {
  return keep({ ...object, ...changes }, name => changes[name] !== null)
}

function merged(value, patch) {
  if (!isPlain(patch)) return patch
  const old = like(empty, value)
  return changed(old, mapped(patch, (change, name) => merged(Object.hasOwn(old, name) ? old[name] : empty, change)))
}

const byIndex = (left, right) => left.index - right.index

export function apply(value, change) {
  if (change.items ?? change.values) return freeze(change.items ?? change.values)
  if (change.kind === 'map') return freeze({ ...keep(like(empty, value), name => !change.removed.includes(name)), ...change.set })
  const { deletions, insertions, moves, modifications } = change
  const gone = new Set([...deletions.map(({ index }) => index), ...moves.map(({ from }) => from)])
  const items = like(none, value)
  const result = items.filter((_, index) => !gone.has(index))
  const added = [...insertions, ...moves.map(({ from, to: index }) => ({ index, item: items[from] }))]
  for (const { index, item } of added.sort(byIndex)) result.splice(index, 0, item)
  for (const { newIndex, item } of modifications) result[newIndex] = item
  return freeze(result)
}

export function difference(before, after) {
  if (isPlain(after)) {
    return {
      kind: 'map',
      set: keep(after, name => !Object.hasOwn(before, name) || !same(before[name], after[name])),
      removed: Object.keys(before).filter(name => !Object.hasOwn(after, name))
    }
  }
  const places = new Map(before.map((item, index) => [item.id, index]))
  const insertions = []
  const kept = []
  after.forEach((item, newIndex) => {
    const index = places.get(item.id)
    if (index === undefined) insertions.push({ index: newIndex, item })
    else kept.push({ index, newIndex, item })
    places.delete(item.id)
  })
  const stay = longestAscending(kept.map(({ index }) => index))
  kept.sort(byIndex)
  return {
    kind: 'list',
    deletions: [...places].map(([id, index]) => ({ index, id })),
    insertions,
    moves: kept.filter(({ index }) => !stay.has(index)).map(({ index, newIndex, item }) => ({ from: index, to: newIndex, id: item.id })),
    modifications: kept.filter(({ index, item }) => !same(before[index], item))
  }
}

function longestAscending(numbers) {
  const ends = []
  const previous = []
  for (const number of numbers) {
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (ends[middle] < number) low = middle + 1
      else high = middle
    }
    previous[number] = ends[low - 1]
    ends[low] = number
  }
  const result = new Set()
  for (let number = ends.at(-1); number !== undefined; number = previous[number]) result.add(number)
  return result
}

const time = now => new Date(now).toISOString()

const find = (items, id) => items.find(item => item.id === id)

function inserted(items, index, item) {
  const result = items.slice()
  result.splice(index, 0, item)
  return result
}

function replaced(items, id, change, now) {
  return items.map(item => {
    if (item.id !== id) return item
    const { id: _, addedAt, updatedAt, ...old } = item
    const value = change(old)
    return same(old, value) ? item : { id, ...value, addedAt, updatedAt: time(now) }
  })
}

const list = {
  add(items, payload, now) {
    const { id, index = items.length, ...rest } = payload
    const content = changed(empty, rest)
    if (find(items, id)) return replaced(items, id, () => content, now)
    return inserted(items, index, { id, ...content, addedAt: time(now), updatedAt: time(now) })
  },
  update: (items, { id, ...patch }, now) => replaced(items, id, old => merged(old, patch), now),
  remove: (items, { id }) => items.filter(item => item.id !== id),
  move: (items, { id, index }) => find(items, id) ? inserted(list.remove(items, { id }), index, find(items, id)) : items,
  toggle: (items, payload, now) => find(items, payload.id) ? list.remove(items, payload) : list.add(items, payload, now),
  clear: () => none
}

const map = {
  set: (values, { key, value }) => changed(values, { [key]: value }),
  remove: (values, { key }) => changed(values, { [key]: null }),
  merge: (values, payload) => changed(values, payload.values),
  increment(values, { key, by }) {
    const value = Object.hasOwn(values, key) ? values[key] : 0
    return typeof value === 'number' ? changed(values, { [key]: value + by }) : values
  },
  clear: () => empty,
  save: (values, fields) => ({ ...values, ...mapped(fields, value => typeof value === 'string' ? value.trim() : value) })
}

const connected = ['connecting', 'live']
const active = [...connected, 'offline']
const asleep = ['needsLogin', 'failed']

const transitions = {
  start: [['idle', 'stopped', ...asleep], 'connecting', 'connect'],
  stop: [['idle', ...active, ...asleep], 'stopped', 'disconnect'],
  response: [['connecting'], 'live', 'send'],
  noResponse: [connected, 'offline', 'disconnect', 'wait'],
  time: [['offline'], 'connecting', 'connect'],
  wake: [active, 'connecting', 'disconnect', 'connect'],
  visible: [['offline'], 'connecting', 'disconnect', 'connect'],
  unauthorized: [active, 'needsLogin', 'disconnect'],
  refused: [active, 'failed', 'disconnect'],
  login: [[...active, ...asleep], 'connecting', 'disconnect', 'connect']
}

export function next(state, { type, ...details }) {
  const [states = none, name, ...commands] = transitions[type] ?? none
  if (!states.includes(state.name)) return [state, none]
  const attempts = { noResponse: state.attempt + 1, start: 0, response: 0, login: 0 }
  return [{ name, attempt: attempts[type] ?? state.attempt, ...details }, commands]
}

function memoryStore() {
  const rows = new Map()
  return {
    read: async key => rows.get(key),
    write: async changes => { for (const [key, value] of changes) rows.set(key, value) }
  }
}

function indexedStore(name) {
  const opened = new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore('rows')
    request.onerror = () => reject(request.error)
    request.onsuccess = () => resolve(request.result)
  })
  opened.catch(() => {})
  const run = async (mode, body) => {
    const transaction = (await opened).transaction('rows', mode, { durability: 'strict' })
    const request = body(transaction.objectStore('rows'))
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request?.result)
      transaction.onabort = () => reject(transaction.error)
    })
  }
  return {
    read: key => run('readonly', rows => key === 'outbox' ? rows.getAll(IDBKeyRange.bound('o:', 'o;')) : rows.get(key)),
    write: changes => run('readwrite', rows => {
      for (const [key, value] of changes) if (key !== 'outbox') value === undefined ? rows.delete(key) : rows.put(value, key)
    })
  }
}

const report = error => (globalThis.reportError ?? console.error)(error)

function subscribe(listeners, listener) {
  const entry = [listener]
  listeners.add(entry)
  return () => { listeners.delete(entry) }
}

function notify(listeners, ...values) {
  for (const [listener] of [...listeners]) try { listener(...values) } catch (error) { report(error) }
}

class Collection {
  #client
  #listeners = new Set()
  #value

  constructor(client, name, reducers, module = name, scope) {
    Object.assign(this, { name, reducers, module, scope })
    this.#client = client
    this.subscribe = listener => {
      void this.value
      return subscribe(this.#listeners, listener)
    }
    this.snapshot = () => this.value
  }

  get value() { return this.#value ??= freeze(this.#client._shown(this)) }
  get isReady() { return this.#client._has(this.name) }

  [Symbol.iterator]() { return (isPlain(this.value) ? Object.entries(this.value) : this.value).values() }

  _update(origin) {
    const previous = this.#value
    if (!previous) return
    const value = this.#value = updated(previous, this.#client._shown(this))
    if (value === previous) return
    let changeset
    notify(this.#listeners, value, { previous, origin, get changeset() { return changeset ??= difference(previous, value) } })
  }

  _do(type, payload, options) {
    return this.#client._write([{ module: this.module, type, payload: { ...this.scope, ...payload } }], options)
  }

  clear(options) { return this._do('clear', {}, options) }
}

class List extends Collection {
  get(id) { return this.value.find(item => item.id === id) }
  put(id, content, options) { return this._do('add', { ...content, id }, options) }
  update(id, patch, options) { return this._do('update', { ...patch, id }, options) }
  remove(id, options) { return this._do('remove', { id }, options) }
  move(id, index, options) { return this._do('move', { id, index }, options) }
  toggle(id, content, options) { return this._do('toggle', { ...content, id }, options) }
}

class Values extends Collection {
  get(key, fallback) { return Object.hasOwn(this.value, key) ? this.value[key] : fallback }
  set(key, value, options) { return this._do('set', { key, value }, options) }
  remove(key, options) { return this._do('remove', { key }, options) }
  increment(key, by = 1, options) { return this._do('increment', { key, by }, options) }
  merge(values, options) { return this._do('merge', { values }, options) }
  save(fields, options) { return this._do('save', fields, options) }
}

export class Refused extends Error {
  constructor({ status, problem }) {
    super(problem?.detail ?? problem?.title ?? `The server responded with ${status}`)
    Object.assign(this, { name: 'Refused', status, problem })
  }
}

const plain = ({ status = 0, message: title, problem = { title, status } }) => ({ status, problem })

const failure = message => plain({ message })

const again = {}
const beginning = { cursor: undefined, revision: -1 }

export class Lockstep {
  refused = none
  storeError
  #url
  #name
  #names
  #options
  #store
  #listeners = new Set()
  #collections = new Map()
  #session = empty
  #copy = new Map()
  #position = beginning
  #outbox = []
  #pending = none
  #writes = new Map()
  #state = { name: 'idle', attempt: 0 }
  #on
  #led
  #ended
  #running = new Set()
  #abort
  #sender
  #timer
  #checked
  #opened
  #rows = new Map()
  #saving = Promise.resolve()
  #next
  #saveTimer
  #isShared
  #isLeader = false
  #channel
  #waiting = new Map()

  constructor(url, options = empty) {
    this.#options = { now: Date.now, random: Math.random, fetch, setTimeout, clearTimeout, ...options }
    const { name = '', collections, store } = options
    this.#url = String(url).replace(/\/+$/, '')
    this.#name = `lockstep:${this.#url}:${name}`
    this.#names = collections ? [...collections].sort() : null
    const isBrowser = !store && globalThis.indexedDB
    this.#store = isBrowser ? indexedStore(this.#name) : store ?? memoryStore()
    this.#isShared = isBrowser && globalThis.navigator?.locks && globalThis.BroadcastChannel
    this.#show()
  }

  #after(ms, body) {
    const { setTimeout } = this.#options
    return setTimeout(body, ms)
  }

  #clear(timer) {
    const { clearTimeout } = this.#options
    clearTimeout(timer)
  }

  list(name) { return this.#collection(List, name, list) }
  map(name) { return this.#collection(Values, name, map) }
  suite(suite = 'standard') { return this.#collection(Values, `defaults/${suite}`, map, 'defaults', { suite }) }

  #collection(Kind, name, ...more) {
    if (!this.#collections.has(name)) this.#collections.set(name, new Kind(this, name, ...more))
    return this.#collections.get(name)
  }

  onState(listener) { return subscribe(this.#listeners, listener) }

  transaction(body, options) {
    const actions = []
    body({ do(module, type, payload = {}) { actions.push({ module, type, payload }) } })
    return this._write(actions, options)
  }

  retry({ key }) { return this.#change({ type: 'retry', key }) }
  dismiss({ key }) { return this.#change({ type: 'dismiss', key }) }

  signUp(credentials) { return this.#enter('/v1/users', credentials) }
  logIn(credentials) { return this.#enter('/v1/sessions', credentials) }

  async #enter(path, body) {
    const response = await this.#request(path, { method: 'POST', body, bearer: '', id: randomID() })
    if (response.status !== 201) throw new Refused(response)
    const { token, user } = response.body
    await this.#change({ type: 'session', session: { token, user: user.id } })
    return response.body
  }

  async logOut({ keepCopy = false } = {}) {
    await this.#open()
    const bearer = this.#session.token ?? this.#checked
    await this.#change({ type: 'session', session: empty, wipe: !keepCopy })
    if (bearer) await this.#request('/v1/sessions/current', { method: 'DELETE', bearer }).catch(() => {})
  }

  start() {
    if (this.#on) return this.#isLeader && this.#dispatch({ type: 'start' })
    const on = this.#on = new AbortController()
    this.#run(async () => {
      await this.#ended
      await this.#open()
      if (this.#on !== on) return
      this.#listen(on)
      this.#led = this.#channel ? this.#waitToLead() : this.#lead()
    })
  }

  stop() {
    this.#on = this.#on?.abort()
    this.#dispatch({ type: 'stop' })
    return this.#ended = (async () => {
      await Promise.all(this.#running)
      await this.#led
      if (this.#channel) this.#opened = this.#channel = this.#channel.close()
    })()
  }

  _write(actions, { ifUnchanged, resolve } = empty) {
    const entry = this.#entry(freeze(clone(actions)))
    const { key } = entry
    if (ifUnchanged) {
      if (!this.#position.cursor) throw new Refused(failure('The client has no copy'))
      entry.base = this.#outbox.reduce((base, other) => advanced(base, other, entry), this.#position)
    }
    const confirmed = new Promise((done, fail) => this.#writes.set(key, { done, fail, resolve }))
    this.#outbox.push(entry)
    this.#show('local')
    const saved = this.#change({ type: 'write', key, entry }).then(() => { entry.isSaved = true }, error => {
      this.#remove(key)
      this.#settle({ key, error })
      throw error
    })
    saved.catch(() => {})
    confirmed.catch(() => {})
    return { key, saved, confirmed, cancel: () => this.#change({ type: 'cancel', key }) }
  }

  #entry(actions) {
    const at = this.#later()
    const key = `${at}-${randomID()}`
    return { key, id: key, user: this.#session.user, at, actions }
  }

  #later(at = this.#options.now()) { return Math.max(at, (this.#outbox.at(-1)?.at || 0) + 1) }

  #keep(entry, changes) { this.#rows.set(rowName(entry.key), Object.assign(entry, changes)) }

  #filter(wanted) {
    const outbox = this.#outbox.filter(entry => wanted(entry) || !this.#rows.set(rowName(entry.key)))
    if (outbox.length < this.#outbox.length) this.#outbox = outbox
  }

  #remove(key) {
    this.#filter(entry => entry.key !== key)
    this.#show('local')
  }

  async #change(command) {
    await this.#open()
    let steal
    while (this.#channel && !this.#isLeader) {
      const held = navigator.locks.request(this.#name, steal ? { steal } : { ifAvailable: true }, async lock => {
        if (!lock) return
        await this.#load()
        return this.#answer(command)
      })
      const answer = await held.catch(() => again) ?? (this.#isLeader ? again : await this.#ask(command))
      if (answer?.error) throw new Refused(answer.error)
      if (answer && answer !== again) return answer.value
      steal = !answer
    }
    return this.#perform(command)
  }

  #answer(command) { return this.#perform(command).then(value => ({ value }), error => ({ error: plain(error) })) }

  async #perform(command) {
    const value = await this.#execute(command)
    this.#broadcast()
    this.#send()
    return value
  }

  async #execute({ type, key, entry, session, wipe, current }) {
    const known = this.#outbox.find(entry => entry.key === key)
    switch (type) {
      case 'write':
        if (entry.user && entry.user !== this.#session.user) throw new Refused(failure('The user logged out'))
        if (!known) {
          entry.at = this.#later(entry.at)
          this.#outbox.push(entry)
          this.#show('local')
        }
        this.#keep(entry = known ?? entry)
        const error = await this.#save()
        if (!error) return entry.isSaved = true
        this.#remove(key)
        throw error
      case 'resolve': return this.#writes.get(key).resolve?.(current, clone(known.actions))
      case 'session':
        this.#abort?.abort()
        if (wipe || session.user && this.#session.user && session.user !== this.#session.user) await this.#wipe()
        this.#enterAs({ user: this.#session.user, ...session })
        await this.#save()
        this.#dispatch({ type: session.token ? 'login' : 'unauthorized' })
        return
      case 'cancel':
        if (!known || known.sent || known.refused) return false
        this.#settle({ key, error: failure('The write was cancelled') })
        break
      default:
        if (!known?.refused) return false
    }
    this.#remove(key)
    if (type === 'retry') {
      const entry = this.#entry(known.actions)
      this.#outbox.push(entry)
      this.#keep(entry, { isSaved: true })
      this.#show('local')
    }
    await this.#save()
    return true
  }

  async #wipe() {
    const stored = await this.#store.read('outbox').catch(() => {}) ?? none
    for (const row of stored) this.#rows.set(rowName(row.key ?? row))
    this.#rows.set('copy')
    const gone = this.#outbox
    this.#filter(() => false)
    this.#copy.clear()
    this.#position = beginning
    this.#session = empty
    for (const { key } of gone) this.#settle({ key, error: failure('The user logged out') })
    this.#show('local')
    this.#broadcast({ copy: this.#copy })
  }

  #enterAs(session) { this.#rows.set('session', this.#session = session) }

  #settle({ key, value, error }) {
    const known = this.#writes.get(key)
    this.#writes.delete(key)
    if (error) known?.fail(new Refused(plain(error)))
    else known?.done(value)
    this.#broadcast({ settled: { key, value, error: error && plain(error) } })
  }

  _has(name) { return this.#position.cursor !== undefined || this.#copy.has(name) }

  _shown(collection) {
    const { name, reducers, shown } = collection
    const base = like(reducers.clear(), this.#copy.get(name))
    const outbox = this.#outbox
    let { value, length } = shown?.base === base && shown.outbox === outbox ? shown : { value: base, length: 0 }
    for (; length < outbox.length; length++) {
      const { refused, isIncluded, actions, at } = outbox[length]
      if (refused || isIncluded) continue
      for (const action of actions) {
        if (collectionName(action) !== name) continue
        const reduce = this.#options.reducers?.[action.module]?.[action.type] ?? reducers[action.type]
        try { value = reduce?.(value, action.payload, at) ?? value } catch (error) { report(error) }
      }
    }
    collection.shown = { base, outbox, length, value }
    return value
  }

  get pending() { return this.#pending = updated(this.#pending, this.#entries(isWaiting)) }

  #entries(wanted) { return this.#outbox.filter(wanted).map(({ key, at, actions, refused }) => ({ key, at, actions, ...refused })) }

  #show(origin = 'server') {
    for (const collection of this.#collections.values()) collection._update(origin)
    const { refused, storeError } = this
    this.refused = updated(refused, this.#entries(entry => entry.refused))
    const { name, at, error } = this.#state
    const state = updated(this.state, {
      name, pending: this.#outbox.filter(isWaiting).length, ...name === 'offline' && { at }, ...error && { error: new Refused(error) },
      ...storeError && { storeError }
    })
    if (state === this.state && refused === this.refused) return
    this.state = state
    notify(this.#listeners, state)
  }

  #apply({ reset, changesets, cursor, revision, keys }) {
    if (reset) this.#copy.clear()
    for (const change of changesets) this.#copy.set(change.collection, apply(this.#copy.get(change.collection), change))
    this.#position = { cursor, revision }
    this.#rows.set('copy', { position: this.#position, names: this.#names, user: this.#session.user, values: [...this.#copy] })
    const included = new Set(keys)
    for (const entry of this.#outbox) {
      const isIncluded = included.has(entry.id) || (reset ? !isWaiting(entry) : entry.isIncluded)
      if (isIncluded !== entry.isIncluded) this.#keep(entry, { isIncluded })
    }
    this.#outbox = [...this.#outbox]
    this.#drop()
    this.#show()
  }

  #drop() {
    this.#filter(entry => entry.refused || isWaiting(entry) || !entry.isIncluded && entry.revision > this.#position.revision)
    if (this.#isLeader) this.#saveTimer ??= this.#after(300, () => this.#save())
  }

  #open() {
    return this.#opened ??= this.#load().then(() => {
      if (!this.#isShared) return
      this.#channel = new BroadcastChannel(this.#name)
      this.#channel.onmessage = ({ data }) => this.#receive(data)
      this.#channel.postMessage({ type: 'hello' })
    })
  }

  async #load() {
    try {
      const read = key => this.#store.read(key)
      const [stored, outbox = none, session = empty] = await Promise.all(['copy', 'outbox', 'session'].map(read))
      const entries = await Promise.all(outbox.map(async row => ({ ...isObject(row) ? row : await read(rowName(row)), isSaved: true })))
      const isOwn = ({ user }) => !user || user === session.user
      const copy = stored && isOwn(stored) ? stored : empty
      this.#copy = new Map(copy.values)
      this.#copy.forEach(freeze)
      this.#position = same(copy.names, this.#names) ? copy.position : beginning
      this.#session = session
      this.#rows.clear()
      this.#take(entries.filter(entry => entry.key && isOwn(entry)).sort((left, right) => left.at - right.at))
    } catch (error) {
      this.#store = memoryStore()
      this.storeError = error
    }
    this.#show('local')
  }

  #take(outbox) {
    const known = new Set(outbox.map(entry => entry.key))
    this.#outbox = [...outbox, ...this.#outbox.filter(({ key, isSaved }) => !isSaved && this.#writes.has(key) && !known.has(key))]
  }

  #save() {
    return this.#next ??= this.#saving = this.#saving.then(async () => {
      this.#clear(this.#saveTimer)
      this.#saveTimer = this.#next = undefined
      const rows = this.#rows
      this.#rows = new Map()
      try {
        await this.#store.write([...rows, ['outbox', this.#outbox.map(entry => entry.key)]])
      } catch (error) {
        this.#rows = new Map([...rows, ...this.#rows])
        this.storeError = error
        this.#show()
        return error
      }
    })
  }

  #dispatch(event) {
    const [state, commands] = next(this.#state, event)
    if (state === this.#state) return
    this.#state = state
    const perform = {
      connect: () => {
        const { signal } = this.#abort = new AbortController()
        this.#run(() => this.#follow(signal), signal)
      },
      disconnect: () => {
        this.#clear(this.#timer)
        this.#abort?.abort()
      },
      wait: () => { this.#timer = this.#after(state.at - this.#options.now(), () => this.#dispatch({ type: 'time' })) },
      send: () => this.#send()
    }
    commands.forEach(command => perform[command]())
    this.#show()
    this.#broadcast()
  }

  #run(body, signal) {
    const work = body().catch(error => {
      if (!signal?.aborted) signal ? this.#lost(error) : report(error)
    }).finally(() => this.#running.delete(work))
    this.#running.add(work)
  }

  async #follow(signal) {
    const isStream = this.#options.transport === 'events'
    while (!signal.aborted) {
      const began = this.#options.now()
      const isLive = this.#state.name === 'live'
      const { cursor } = this.#position
      const known = this.#outbox.filter(entry => entry.cursor)
      const Cursor = known.at(-1)?.cursor
      const query = new URLSearchParams({
        ...cursor && { since: cursor }, ...this.#names && { collections: this.#names.join() },
        ...isLive && !isStream && !Cursor && { wait: 30 }
      })
      const onDocument = document => {
        if (signal.aborted) return
        if (!document?.cursor) throw failure('This is no Lockstep server')
        for (const entry of known) entry.isIncluded = true
        this.#apply(document)
        this.#broadcast({ document })
        this.#dispatch({ type: 'response' })
      }
      const response = await this.#request(`/v1/changes?${query}`, {
        signal, headers: Cursor && { Cursor }, onEvent: isStream && onDocument
      })
      if (signal.aborted) return
      if (response.status === 200) {
        if (isStream) throw failure('The stream ended')
        const arrived = this.#options.now()
        onDocument(response.body)
        const isEarly = isLive && !response.body.changesets.length && arrived - began < 15_000
        await new Promise(resolve => this.#after(isEarly ? this.#options.random() * 1_000 : 4 * (this.#options.now() - arrived), resolve))
      } else if (response.status === 400 && cursor) {
        this.#position = beginning
      } else if (isPassing(response)) {
        this.#lost(response)
      } else {
        this.#dispatch({ type: 'refused', error: plain(response) })
      }
    }
  }

  #lost(reason) {
    const { status, retryAfter = 0 } = reason
    const delay = Math.min(60_000, 500 * 2 ** this.#state.attempt) * (0.5 + this.#options.random() / 2)
    const at = this.#options.now() + Math.max(delay, retryAfter * 1_000)
    this.#dispatch({ type: status === 401 ? 'unauthorized' : 'noResponse', at, error: plain(reason) })
  }

  #send() {
    const signal = this.#abort?.signal
    if (!this.#isLeader || this.#state.name !== 'live' || this.#sender === signal) return
    this.#sender = signal
    this.#run(async () => {
      try {
        let entry
        while (!signal.aborted && (entry = this.#outbox.find(isWaiting))?.isSaved) await this.#sendEntry(entry, signal)
      } finally {
        if (this.#sender === signal) this.#sender = undefined
      }
    }, signal)
  }

  async #sendEntry(entry, signal) {
    const stored = await this.#store.read(rowName(entry.key)) ?? { sent: entry.at }
    const sent = stored.sent ?? this.#options.now()
    if (this.#options.now() - sent > 828e5) return this.#refuse(entry, failure('The server may have applied it'))
    this.#keep(entry, { sent })
    await this.#save()
    const bearer = await this.#bearer(signal)
    if (signal.aborted || !this.#outbox.includes(entry)) return
    const actions = entry.actions.map(action => ({ ...action, ifMatch: entry.base?.cursor }))
    const response = await this.#request('/v1/actions', { method: 'POST', body: { actions }, id: entry.id, signal, bearer })
    const { status, body, revision } = response
    if (status === 200) {
      this.#keep(entry, { revision, cursor: body.cursor })
      for (const later of this.#outbox) {
        const base = later.base && isWaiting(later) && advanced(later.base, entry, later)
        if (base && base !== later.base) this.#keep(later, { base })
      }
      this.#drop()
      this.#show()
      this.#settle({ key: entry.key, value: body })
    } else if (!body || isPassing(response)) {
      this.#lost(response)
    } else {
      const mine = status === 412 && await this.#resolve(entry, body.current)
      if (!this.#outbox.includes(entry)) return
      if (!mine) return this.#refuse(entry, response)
      this.#keep(entry, { id: randomID(), actions: freeze(clone(mine)), base: { cursor: body.cursor, revision }, sent: undefined })
      this.#outbox = [...this.#outbox]
      await this.#save()
      this.#show('local')
    }
  }

  async #resolve({ key }, current) {
    const command = { type: 'resolve', key, current }
    if (!this.#writes.has(key)) return (await this.#ask(command))?.value
    return this.#execute(command).catch(report)
  }

  async #refuse(entry, reason) {
    this.#keep(entry, { refused: plain(reason) })
    this.#outbox = [...this.#outbox]
    this.#show()
    this.#settle({ key: entry.key, error: reason })
    await this.#save()
  }

  async #bearer(signal) {
    if (this.#session.token) return this.#session.token
    const { token } = this.#options
    const bearer = typeof token === 'function' ? await token() : token
    if (bearer && bearer !== this.#checked) {
      const response = await this.#request('/v1/me', { signal, bearer })
      if (response.status !== 200) throw new Refused(response)
      const user = response.body.id
      if (this.#session.user && this.#session.user !== user) {
        await this.#wipe()
        this.#dispatch({ type: 'login' })
      }
      this.#enterAs({ user })
      this.#checked = bearer
    }
    return bearer
  }

  async #request(path, { method = 'GET', body, id, headers, signal, bearer, onEvent }) {
    bearer ??= await this.#bearer(signal)
    if (bearer == null) return { status: 401 }
    let timer
    const restart = () => {
      this.#clear(timer)
      timer = signal && this.#after(45_000, () => this.#lost(failure('The server is silent')))
    }
    restart()
    try {
      const { fetch } = this.#options
      const response = await fetch(this.#url + path, {
        method, signal, cache: 'no-store', body: body && JSON.stringify(body),
        headers: {
          ...headers, ...bearer && { Authorization: `Bearer ${bearer}` }, ...id && { 'Idempotency-Key': id },
          ...body && { 'Content-Type': 'application/json' }, ...onEvent && { Accept: 'text/event-stream' }
        }
      })
      if (onEvent && response.ok) await readEvents(response.body, signal, restart, onEvent)
      const { headers: fields } = response
      const document = /json/.test(fields.get('Content-Type')) ? await response.json() : undefined
      return {
        status: response.status, body: document, problem: document,
        revision: Number(fields.get('Revision') ?? -1),
        retryAfter: Number(fields.get('Retry-After')) || 0
      }
    } finally {
      this.#clear(timer)
    }
  }

  #waitToLead() {
    const { signal } = this.#on
    return navigator.locks.request(this.#name, { signal }, async () => {
      await this.#load()
      if (!signal.aborted) await this.#lead()
    }).catch(() => {
      if (signal.aborted) return
      this.#isLeader = false
      this.#dispatch({ type: 'stop' })
      return this.#waitToLead()
    })
  }

  async #lead() {
    const { signal } = this.#on
    this.#isLeader = true
    this.#waiting.forEach(resolve => resolve(again))
    this.#state = { name: 'idle', attempt: 0 }
    this.#dispatch({ type: 'start' })
    this.#broadcast({ copy: this.#copy })
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    while (this.#running.size) await Promise.all(this.#running)
    if (this.#isLeader) await this.#save()
    this.#isLeader = false
  }

  #broadcast(more) {
    if (!this.#isLeader || !this.#on) return
    this.#channel?.postMessage({
      type: 'view', outbox: this.#outbox, position: this.#position, state: this.#state, session: this.#session, ...more
    })
  }

  async #ask(command) {
    const id = randomID()
    const answer = await new Promise(resolve => {
      const timer = this.#after(command.current ? 60_000 : 3_000, () => resolve())
      this.#waiting.set(id, answer => {
        this.#clear(timer)
        resolve(answer)
      })
      this.#channel?.postMessage({ type: 'ask', id, command })
    })
    this.#waiting.delete(id)
    return answer
  }

  async #receive({ type, id, command, answer, outbox, state, session, copy, position, document, settled }) {
    if (type === 'hello') return this.#broadcast({ copy: this.#copy })
    if (type === 'answer') return this.#waiting.get(id)?.(answer)
    if (type === 'ask') {
      if (!(command.type === 'resolve' ? this.#writes.has(command.key) : this.#isLeader)) return
      const answer = await this.#answer(command)
      return this.#channel?.postMessage({ type: 'answer', id, answer })
    }
    if (this.#isLeader) return
    this.#state = state
    this.#session = session
    const { cursor } = this.#position
    const isNext = document && (document.reset || document.since === cursor)
    if (copy || isNext || position.cursor === cursor) this.#take(outbox)
    else this.#channel.postMessage({ type: 'hello' })
    if (copy) {
      this.#waiting.forEach(resolve => resolve(again))
      copy.forEach(freeze)
      this.#copy = copy
      this.#position = position
    }
    if (isNext) this.#apply(document)
    this.#rows.clear()
    this.#show()
    if (settled) this.#settle(settled)
  }

  #listen({ signal }) {
    const { document } = globalThis
    const on = (target, name, body) => target?.addEventListener?.(name, () => this.#isLeader && body(), { signal })
    on(globalThis, 'online', () => this.#dispatch({ type: 'wake' }))
    on(document, 'visibilitychange', () => document.visibilityState === 'visible' ? this.#dispatch({ type: 'visible' }) : this.#save())
    let last = this.#options.now()
    let timer
    const tick = () => {
      if (this.#isLeader && Math.abs(this.#options.now() - last) > 40_000) this.#dispatch({ type: 'wake' })
      last = this.#options.now()
      timer = this.#after(10_000, tick)
    }
    tick()
    signal.onabort = () => this.#clear(timer)
  }
}

const isPassing = ({ status, retryAfter }) => retryAfter || [401, 408, 429].includes(status) || status >= 500 && status !== 507

const rowName = key => `o:${key}`

const isWaiting = entry => !entry.refused && entry.revision === undefined

const collectionName = ({ module, payload }) => module === 'defaults' ? `defaults/${payload.suite ?? 'standard'}` : module

const subject = ({ payload }) => payload.id ?? payload.key

const covers = (left, right) => right.every(action => left.some(other =>
  collectionName(other) === collectionName(action) && (subject(other) ?? subject(action)) === subject(action)))

const advanced = (base, { cursor, revision, base: condition, actions }, entry) =>
  cursor && (revision === base.revision + 1 || condition && covers(actions, entry.actions)) ? { cursor, revision } : base

const randomID = () => [0, 0, 0].map(() => Math.random().toString(36).slice(2)).join('')

async function readEvents(body, signal, restart, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  signal.addEventListener('abort', () => reader.cancel().catch(() => {}))
  let rest = ''
  while (!signal.aborted) {
    const { done, value } = await reader.read()
    if (done) return
    restart()
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) {
      const data = /^data: ([^\n]*)/m.exec(block)
      if (data) onEvent(JSON.parse(data[1]))
    }
  }
}
