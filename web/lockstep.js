// See README.md.

const none = Object.freeze([])
const empty = Object.freeze({})

const isObject = value => value && typeof value === 'object'
const isPlain = value => isObject(value) && !Array.isArray(value)
const like = (start, value = start) => isPlain(value) === isPlain(start) ? value : start
const clone = value => JSON.parse(JSON.stringify(value))

function freeze(value) {
  if (!isObject(value) || Object.isFrozen(value)) return value
  Object.values(value).forEach(freeze)
  return Object.freeze(value)
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

const keep = (object, wanted) => Object.fromEntries(Object.entries(object).filter(([name]) => wanted(name)))

function changed(object, changes) {
  return keep({ ...object, ...changes }, name => changes[name] !== null)
}

function merged(value, patch) {
  if (!isPlain(patch)) return patch
  const old = like(empty, value)
  const changes = Object.entries(patch).map(([name, change]) => [name, merged(Object.hasOwn(old, name) ? old[name] : empty, change)])
  return changed(old, Object.fromEntries(changes))
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

const closed = draft => draft.value ??= Object.freeze(draft.order?.map(id => draft.items.get(id)) ?? Object.fromEntries(draft.items))

function open(draft) {
  const { value, items } = draft
  if (!items) {
    if (!isPlain(value)) draft.order = value.map(({ id }) => id)
    draft.items = new Map(draft.order ? value.map(item => [item.id, item]) : Object.entries(value))
  }
  draft.value = undefined
  return draft
}

function edit({ items }, id, change, now) {
  if (!items.has(id)) return
  const { id: _, addedAt, updatedAt, ...old } = items.get(id)
  const value = change(old)
  if (!same(old, value)) items.set(id, freeze({ id, ...value, addedAt, updatedAt: time(now) }))
}

const take = (order, id) => order.splice(order.indexOf(id), 1)

const list = {
  __proto__: null,
  add(draft, { id, index, ...rest }, now) {
    const content = changed(empty, rest)
    const { items, order } = draft
    if (items.has(id)) return edit(draft, id, () => content, now)
    items.set(id, freeze({ id, ...content, addedAt: time(now), updatedAt: time(now) }))
    order.splice(index ?? order.length, 0, id)
  },
  update: (draft, { id, ...patch }, now) => edit(draft, id, old => merged(old, patch), now),
  remove({ items, order }, { id }) { if (items.delete(id)) take(order, id) },
  move({ items, order }, { id, index }) { if (items.has(id)) order.splice(index, 0, ...take(order, id)) },
  toggle: (draft, payload, now) => list[draft.items.has(payload.id) ? 'remove' : 'add'](draft, payload, now),
  clear({ items, order }) {
    items.clear()
    order.length = 0
  }
}

const map = {
  __proto__: null,
  set: ({ items }, { key, value }) => value === null ? items.delete(key) : items.set(key, value),
  remove: ({ items }, { key }) => items.delete(key),
  merge(draft, { values }) {
    for (const [key, value] of Object.entries(values)) map.set(draft, { key, value })
  },
  increment({ items }, { key, by }) {
    const value = items.has(key) ? items.get(key) : 0
    if (typeof value === 'number') items.set(key, value + by)
  },
  clear: ({ items }) => items.clear(),
  save({ items }, fields) {
    for (const [key, value] of Object.entries(fields)) items.set(key, typeof value === 'string' ? value.trim() : value)
  }
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
    read: async key => key === 'outbox' ? [...rows.values()].filter(({ key }) => key) : rows.get(key),
    write: async changes => { for (const [key, value] of changes) value === undefined ? rows.delete(key) : rows.set(key, value) }
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
      for (const [key, value] of changes) value === undefined ? rows.delete(key) : rows.put(value, key)
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
    let value = this.#client._shown(this)
    value = this.#value = this.draft.value = updated(previous, value)
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
    const title = problem?.title ?? `The server responded with ${status}`
    super(problem?.detail ?? title)
    Object.assign(this, { name: 'Refused', status, problem, title })
  }
}

const plain = ({ status = 0, message, problem = message && { title: message, status } }) => ({ status, problem })

const failure = (message, status) => plain({ message, status })

const beginning = { cursor: undefined, revision: -1 }
const idle = { name: 'idle', attempt: 0 }

export class Lockstep {
  refused = none
  storeError
  user
  #url
  #name
  #names
  #options
  #store
  #listeners = new Set()
  #userListeners = new Set()
  #collections = new Map()
  #session = empty
  #copy = new Map()
  #position = beginning
  #own = empty
  #date
  #confirmed = new Map()
  #waiting = new Map()
  #unsaved = new Map()
  #refused = new Map()
  #last = 0
  #pending = none
  #writes = new Map()
  #state = idle
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
  #wasRead
  #locks
  #isLeader = false
  #channel
  #number
  #news = new Map()
  #asks = new Map()
  #unasked = []
  #passing
  #watcher
  #losses = 0

  constructor(url, options = empty) {
    this.#options = { now: Date.now, random: Math.random, fetch, setTimeout, clearTimeout, ...options }
    const { name = '', collections, store } = options
    this.#url = String(url).replace(/\/+$/, '')
    this.#name = `lockstep:${this.#url}:${name}`
    this.#names = collections ? [...collections].sort() : null
    const isBrowser = !store && globalThis.indexedDB
    this.#store = isBrowser ? indexedStore(this.#name) : store ?? memoryStore()
    this.#locks = isBrowser && globalThis.BroadcastChannel && globalThis.navigator?.locks
    this.#show()
  }

  #after(ms, body) { return (0, this.#options.setTimeout)(body, ms) }
  #clear(timer) { (0, this.#options.clearTimeout)(timer) }

  list(name) { return this.#collection(List, name, list) }
  map(name) { return this.#collection(Values, name, map) }
  suite(suite = 'standard') { return this.#collection(Values, `defaults/${suite}`, map, 'defaults', { suite }) }

  #collection(Kind, name, ...more) {
    if (!this.#collections.has(name)) this.#collections.set(name, new Kind(this, name, ...more))
    return this.#collections.get(name)
  }

  onState(listener) { return subscribe(this.#listeners, listener) }
  onUser(listener) { return subscribe(this.#userListeners, listener) }

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
    const response = await this.#request(path, { method: 'POST', body, bearer: '', headers: { 'Idempotency-Key': randomID() } })
    const { token, user } = response.body ?? empty
    if (response.status !== 201 || !token) throw new Refused(response)
    await this.#change({ type: 'session', session: { token, ...accountOf(user) } })
    return response.body
  }

  async logOut({ keepCopy = false } = {}) {
    await this.#change({ type: 'session', session: empty, wipe: !keepCopy })
    await this.#change({ type: 'end' })
  }

  start() {
    if (this.#on) return this.#isLeader && this.#dispatch({ type: 'start' })
    const { signal } = this.#on = new AbortController()
    this.#led = (async () => {
      await this.#ended
      await this.#open()
      if (signal.aborted) return
      this.#listen(signal)
      return this.#locks ? this.#waitToLead(signal) : this.#lead(signal)
    })()
  }

  stop() {
    this.#on = this.#on?.abort()
    this.#dispatch({ type: 'stop' })
    return this.#ended = (async () => {
      await this.#led
      while (this.#running.size || this.#passing) await Promise.all([...this.#running, this.#passing])
      this.#watch()
      if (this.#channel) this.#opened = this.#channel = this.#channel.close()
      this.#dispatch({ type: 'stop' })
    })()
  }

  _write(actions, { ifUnchanged, resolve } = empty) {
    const entry = this.#entry(actions)
    const { key } = entry
    if (ifUnchanged) {
      if (!this.#position.cursor) throw new Refused(failure('The client has no copy'))
      entry.base = this.#position
    }
    const confirmed = new Promise((done, fail) => this.#writes.set(key, { done, fail, resolve }))
    this.#add(entry)
    this.#show('local')
    const saved = this.#change({ type: 'write', key, entry }).catch(error => {
      this.#settle({ key, error })
      throw error
    })
    saved.catch(() => {})
    confirmed.catch(() => {})
    return { key, saved, confirmed, cancel: () => this.#change({ type: 'cancel', key }) }
  }

  #entry(actions, id = randomID()) {
    const at = this.#later()
    return { key: `${at}-${id}`, id, user: this.#session.user, at, made: this.#date, actions: freeze(clone(actions)) }
  }

  #add(entry) {
    if (!this.#unsaved.has(entry.key)) this.#fold(entry)
    this.#unsaved.set(entry.key, entry)
  }

  #later(at = this.#options.now()) { return this.#last = this.#waiting.size + this.#unsaved.size ? Math.max(at, this.#last + 1) : at }

  #find(key) { return this.#waiting.get(key) ?? this.#confirmed.get(key) ?? this.#refused.get(key) }

  #put(entry) {
    const { key } = entry
    const old = this.#find(key)
    const [first] = this.#unsaved.keys()
    if (old ? old.id !== entry.id || isShown(old) !== isShown(entry) : first && first !== key) this.#touch(entry)
    else if (!old && !first) this.#fold(entry)
    const part = entry.refused ? this.#refused : entry.revision === undefined ? this.#waiting : this.#confirmed
    this.#takeOut(key, part)
    part.set(key, entry)
    this.#rows.set(rowName(key), entry)
    this.#news.set(key, entry)
    return entry
  }

  #takeOut(key, part) {
    for (const other of [this.#unsaved, this.#waiting, this.#confirmed, this.#refused]) if (other !== part) other.delete(key)
  }

  #remove(entry) {
    const { key } = entry
    if (isShown(entry)) this.#touch(entry)
    this.#takeOut(key)
    this.#rows.set(rowName(key))
    this.#news.set(key)
  }

  #touch({ actions }) { for (const action of actions) delete this.#collections.get(collectionName(action))?.draft }

  #touchAll() { for (const collection of this.#collections.values()) delete collection.draft }

  async #change(command) {
    this.#unasked.push(command)
    this.#pass()
    const { error, value } = await this.#answer(command)
    if (error) throw error.name ? error : new Refused(error)
    return value
  }

  #answer(command) {
    command.id = randomID()
    const answer = new Promise(done => this.#asks.set(command.id, { command, done }))
    this.#run(() => answer)
    return answer
  }

  #pass(steal) {
    if (steal || this.#unasked.length) this.#passing ??= this.#open().then(() => {
      if (this.#isLeader || !this.#locks) return void this.#perform()
      return this.#locks.request(this.#name, { steal, ifAvailable: !steal }, async lock => {
        if (lock) {
          if (!await this.#load()) return
          this.#renew()
          await this.#perform()
        } else if (!this.#isLeader) {
          this.#channel?.postMessage({ type: 'ask', commands: this.#unasked.splice(0) })
          this.#watch()
        }
      })
    }).catch(() => {
      this.#lose()
      return new Promise(done => this.#after(100, done))
    }).finally(() => {
      this.#passing = undefined
      this.#pass()
    })
  }

  #watch() {
    this.#clear(this.#watcher)
    const watcher = this.#watcher = this.#asks.size && this.#after(3_000 + this.#asks.size, async () => {
      await this.#locks.query()
      if (watcher !== this.#watcher) return
      this.#pass(this.#asks.size)
      this.#watch()
    })
  }

  #renew() {
    this.#unasked = [...this.#asks.values()].map(({ command }) => command)
    this.#pass()
  }

  #lose() {
    this.#losses++
    this.#isLeader = false
    this.#rows.clear()
    this.#renew()
  }

  #perform(commands = this.#unasked.splice(0)) {
    const losses = this.#losses
    const answers = commands.map(async command => {
      const { id } = command
      const answer = await this.#execute(command).then(value => ({ id, value }), error => ({ id, error }))
      if (losses !== this.#losses) return empty
      this.#accept([answer])
      this.#broadcast()
      this.#send()
      return answer
    })
    this.#show('local')
    return Promise.all(answers)
  }

  #accept(answers) {
    for (const answer of answers) {
      const { command, done } = this.#asks.get(answer.id) ?? empty
      this.#asks.delete(answer.id)
      if (answer.error && command?.entry) this.#remove(command.entry)
      done?.(answer)
    }
    this.#show('local')
  }

  async #execute({ type, id, key, entry, session, wipe, current }) {
    const known = this.#find(key) ?? (type === 'cancel' && this.#unsaved.get(key))
    switch (type) {
      case 'write':
        if (entry.user && entry.user !== this.#session.user) throw new Refused(failure(otherUser))
        if (known) return
        entry.at = this.#later(entry.at)
        return this.#keep(entry)
      case 'retry':
        if (!known?.refused) return false
        await this.#keep(this.#entry(known.actions, id), known)
        return true
      case 'resolve': {
        const { resolve } = this.#writes.get(key)
        return resolve && (await resolve(current, clone(known.actions)) ?? none)
      }
      case 'session': {
        this.#abort?.abort()
        const { user } = this.#session
        const isOther = wipe || session.user && user && session.user !== user
        await this.#enterAs(old => {
          const { token, endings = none } = old
          const former = token && token !== session.token ? token : (isOther || !session.token) && this.#checked?.[0]
          return { ...!isOther && old, token: undefined, ...session, endings: former ? [...endings, former] : endings }
        }, isOther)
        await this.#save()
        if (!session.token) return this.#dispatch({ type: 'unauthorized' })
        this.#dispatch({ type: 'login' })
        return void this.#end()
      }
      case 'end': return Promise.race([this.#end(), new Promise(done => this.#after(2_000, done))])
      case 'cancel':
        if (!known || known.sent !== undefined || known.refused) return false
        this.#settle({ key, error: failure('The write was cancelled') })
        break
      default:
        if (!known?.refused) return false
    }
    this.#remove(known)
    await this.#save()
    return true
  }

  async #keep(entry, former) {
    const { key } = entry
    const losses = this.#losses
    if (former) this.#remove(former)
    this.#add(entry)
    this.#rows.set(rowName(key), entry)
    const error = await this.#save()
    if (error) {
      if (former && this.#unsaved.has(key)) this.#put(former)
      this.#remove(entry)
      throw error
    }
    if (!this.#unsaved.has(key) || losses !== this.#losses) return
    this.#put(entry)
    this.#rows.delete(rowName(key))
  }

  async #enterAs(change, isOther, signal) {
    const stored = isOther && await this.#store.read('outbox').catch(() => {}) || none
    signal?.throwIfAborted()
    const gone = this.#entries(this.#confirmed, this.#refused)
    if (isOther) {
      this.#abort?.abort()
      this.#take(none)
      this.#unsaved.clear()
      this.#copy.clear()
      this.#position = beginning
      this.#own = empty
      for (const row of [...stored, ...gone]) this.#rows.set(rowName(row.key ?? row))
      for (const row of ['copy', 'own']) this.#rows.set(row)
    }
    this.#rows.set('session', this.#session = change(this.#session))
    this.#tell()
    if (!isOther) return this.#broadcast(empty)
    this.#show('local')
    this.#broadcast({ copy: this.#copy })
    for (const { key } of gone) this.#settle({ key, error: failure(otherUser) })
  }

  #tell() {
    const { user: id, email, anonymous } = this.#session
    const user = id && freeze({ id, ...email && { email }, anonymous })
    if (same(user, this.user)) return
    this.user = user
    notify(this.#userListeners, user)
  }

  #end() {
    return Promise.all((this.#session.endings ?? none).map(async bearer => {
      const ending = { method: 'DELETE', bearer, signal: this.#on?.signal }
      const { status, problem } = await this.#request('/v1/sessions/current', ending).catch(() => empty)
      if (status !== 204 && problem?.status !== 401) return
      await this.#enterAs(({ endings = none, ...rest }) => ({ ...rest, endings: endings.filter(other => other !== bearer) }))
      await this.#save()
    }))
  }

  #settle({ key, value, error }) {
    const known = this.#writes.get(key)
    this.#writes.delete(key)
    if (error) known?.fail(new Refused(plain(error)))
    else known?.done(value)
    this.#broadcast({ settled: { key, value, error: error && plain(error) } })
  }

  _has(name) { return this.#position.cursor !== undefined || this.#copy.has(name) }

  _shown(collection) {
    if (!collection.draft) {
      collection.draft = { value: like(collection.reducers === list ? none : empty, this.#copy.get(collection.name)) }
      for (const entry of this.#entries(this.#confirmed)) this.#fold(entry, collection)
    }
    return closed(collection.draft)
  }

  #fold(entry, only) {
    if (!isShown(entry)) return
    for (const action of entry.actions) {
      const { module, type, payload } = action
      const collection = this.#collections.get(collectionName(action))
      if (!collection?.draft || only && collection !== only) continue
      const { draft, reducers } = collection
      const reduce = this.#options.reducers?.[module]?.[type]
      try {
        if (reduce) collection.draft = { value: reduce(closed(draft), payload, entry.at) ?? closed(draft) }
        else reducers[type]?.(open(draft), payload, entry.at)
      } catch (error) { report(error) }
    }
  }

  #entries(...more) { return [...more, this.#waiting, this.#unsaved].flatMap(part => [...part.values()]) }

  get pending() { return this.#pending = updated(this.#pending, this.#entries().map(shownEntry)) }

  #show(origin = 'server') {
    for (const collection of this.#collections.values()) collection._update(origin)
    const { refused, storeError } = this
    this.refused = updated(refused, [...this.#refused.values()].map(shownEntry))
    const { name, at, error } = this.#state
    const state = updated(this.state, {
      name, pending: this.#waiting.size + this.#unsaved.size, ...name === 'offline' && { at }, ...error && { error: new Refused(error) },
      ...storeError && { storeError }
    })
    if (state === this.state && refused === this.refused) return
    this.state = state
    notify(this.#listeners, state)
  }

  #apply(document, known) {
    const { reset, revision, keys } = document
    this.#merge(document)
    const included = new Set(keys)
    for (const entry of this.#confirmed.values()) {
      if (reset || known.has(entry.key) || included.has(entry.id) || entry.revision <= revision) this.#remove(entry)
    }
    for (const entry of this.#waiting.values()) {
      const isIncluded = included.has(entry.id) || !reset && entry.isIncluded
      if (isIncluded !== entry.isIncluded) this.#put({ ...entry, isIncluded })
    }
    if (reset) this.#rows.set('own', this.#own = empty)
    this.#rows.set('copy', { position: this.#position, names: this.#names, user: this.#session.user, values: [...this.#copy] })
    this.#saveLater()
    this.#show()
  }

  #merge({ reset, changesets, cursor, revision }) {
    if (reset) {
      this.#copy.clear()
      this.#touchAll()
    }
    for (const change of changesets) {
      this.#copy.set(change.collection, apply(this.#copy.get(change.collection), change))
      delete this.#collections.get(change.collection)?.draft
    }
    this.#position = { cursor, revision }
  }

  #saveLater() { if (this.#isLeader) this.#saveTimer ??= this.#after(300, () => this.#save()) }

  #open() {
    return this.#opened ??= this.#load().then(() => {
      if (!this.#locks) return
      this.#channel = new BroadcastChannel(this.#name)
      this.#channel.onmessage = ({ data }) => this.#receive(data)
      this.#channel.postMessage({ type: 'hello' })
    })
  }

  async #load() {
    const losses = this.#losses
    try {
      const read = key => this.#store.read(key)
      const [stored, outbox = none, session = empty, own = empty] = await Promise.all(['copy', 'outbox', 'session', 'own'].map(read))
      const entries = await Promise.all(outbox.map(row => row.key ? row : read(rowName(row))))
      const isOwn = ({ user }) => !user || user === session.user
      const copy = stored && isOwn(stored) ? stored : empty
      this.#copy = new Map(copy.values)
      this.#copy.forEach(freeze)
      this.#position = same(copy.names, this.#names) ? copy.position : beginning
      this.#own = own
      this.#session = session
      this.#tell()
      this.#take(entries.filter(entry => entry && isOwn(entry)).sort((left, right) => left.at - right.at))
      this.#wasRead = true
      this.storeError = this.#store.error
    } catch (error) {
      if (!this.#wasRead) this.#store = { ...memoryStore(), error }
      this.storeError = error
    }
    this.#show('local')
    return losses === this.#losses
  }

  #take(entries) {
    for (const part of [this.#waiting, this.#confirmed, this.#refused]) part.clear()
    for (const { key } of entries) this.#unsaved.delete(key)
    this.#touchAll()
    for (const entry of entries) {
      this.#put(freeze(entry))
      this.#last = Math.max(this.#last, entry.at)
    }
    this.#rows.clear()
    this.#news.clear()
  }

  #save() {
    return this.#next ??= this.#saving = this.#saving.then(async () => {
      this.#clear(this.#saveTimer)
      this.#saveTimer = this.#next = undefined
      const rows = [...this.#rows]
      this.#rows.clear()
      if (this.#options.store) rows.push(['outbox', this.#entries(this.#confirmed, this.#refused).map(entry => entry.key)])
      try {
        await this.#store.write(rows)
        if (this.#locks) await this.#locks.query()
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
    this.#broadcast(empty)
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
      const known = new Map(this.#confirmed)
      const Cursor = [...known.values()].at(-1)?.cursor
      const query = new URLSearchParams({
        ...cursor && { since: cursor }, ...this.#names && { collections: this.#names.join() }, ...isLive && !isStream && !Cursor && { wait: 30 }
      })
      const onDocument = document => {
        if (signal.aborted) return
        if (!document?.cursor) throw failure('This is no Lockstep server')
        this.#apply(document, known)
        this.#broadcast({ document })
        this.#dispatch({ type: 'response' })
      }
      const response = await this.#request(`/v1/changes?${query}`, { signal, headers: Cursor && { Cursor }, onEvent: isStream && onDocument })
      if (signal.aborted) return
      if (response.status === 200) {
        if (isStream) throw failure('The stream ended')
        const arrived = this.#options.now()
        onDocument(response.body)
        const isEarly = isLive && !response.body.changesets.length && arrived - began < 15_000
        if (!signal.aborted) await new Promise(resolve => {
          signal.onabort = resolve
          this.#after(isEarly ? this.#options.random() * 1_000 : 4 * (this.#options.now() - arrived), resolve)
        })
      } else if (!isRefusal(response)) {
        this.#lost(response)
      } else if (response.status === 400 && cursor) {
        this.#position = beginning
      } else {
        this.#dispatch({ type: 'refused', error: plain(response) })
      }
    }
  }

  #lost(reason) {
    const { problem, retryAfter = 0 } = reason
    const delay = Math.min(60_000, 500 * 2 ** this.#state.attempt) * (0.5 + this.#options.random() / 2)
    const at = this.#options.now() + Math.max(delay, retryAfter * 1_000)
    this.#dispatch({ type: problem?.status === 401 ? 'unauthorized' : 'noResponse', at, error: plain(reason) })
  }

  #send() {
    const signal = this.#abort?.signal
    if (!this.#isLeader || this.#state.name !== 'live' || this.#sender === signal) return
    this.#sender = signal
    this.#run(async () => {
      try {
        while (!signal.aborted) {
          const [entry] = this.#waiting.values()
          if (!entry) break
          await this.#sendEntry(entry, signal)
        }
      } finally {
        if (this.#sender === signal) this.#sender = undefined
      }
    }, signal)
  }

  async #sendEntry(entry, signal) {
    const { key } = entry
    const isGone = () => signal.aborted || this.#waiting.get(key) !== entry
    const bearer = await this.#bearer(signal)
    const { sent = entry.sent, seen = entry.seen } = await this.#store.read(rowName(key)).catch(() => entry) ?? { sent: entry.made ?? 0 }
    if (isGone()) return
    const age = this.#date - sent
    let changes
    if (sent === undefined && !entry.isIncluded) {
      const seen = advanced(entry.base ?? this.#position, this.#own, entry)
      changes = { seen, base: entry.base && seen }
    } else if (!(age > -300_000 && age < 82_800_000)) {
      if (entry.isIncluded) return this.#confirm(entry, this.#position, { cursor: this.#position.cursor, results: [] })
      if (!seen) return this.#refuse(entry, failure(inDoubt))
      changes = { seen, base: seen, isInDoubt: true, id: randomID() }
    }
    const unsent = entry
    if (changes) entry = this.#put({ ...entry, sent: this.#date, ...changes })
    const error = await this.#save()
    if (error && sent === undefined && this.#waiting.get(key) === entry) {
      this.#put(unsent)
      throw { message: error.message, retryAfter: 10 }
    }
    if (isGone()) return
    const actions = entry.actions.map(action => ({ ...action, ifMatch: entry.base?.cursor }))
    const response = await this.#request('/v1/actions', { method: 'POST', body: { actions }, headers: { 'Idempotency-Key': entry.id }, signal, bearer })
    const { status, body, revision } = response
    const { cursor, results } = body ?? empty
    entry = this.#waiting.get(key)
    if (!entry) return
    if (status === 200 && cursor) {
      if (results.some(({ mutations }) => mutations.length)) this.#advance({ ...entry, cursor, revision })
      this.#confirm(entry, { cursor, revision }, body)
    } else if (!isRefusal(response)) {
      this.#lost(response)
    } else {
      const isConflict = status === 412
      const mine = isConflict && !entry.isInDoubt && await this.#resolve(entry, body.current)
      if (this.#waiting.get(key) !== entry) return
      if (!mine) return this.#refuse(entry, isConflict && entry.isInDoubt ? failure(inDoubt) : response)
      if (mine.length) {
        this.#put({ ...entry, id: randomID(), actions: freeze(clone(mine)), base: { cursor, revision }, sent: undefined, seen: undefined })
      } else {
        this.#remove(entry)
        this.#settle({ key, error: response })
      }
      this.#show('local')
      await this.#save()
    }
  }

  #advance({ cursor, revision, base, actions }) {
    const last = this.#own
    const isNext = last.revision === revision - 1
    const own = { cursor, revision, from: isNext ? last.from : revision - 1, covered: base && actions, since: base?.revision }
    this.#rows.set('own', this.#own = own)
    if (isNext && !base) return
    for (const [key, later] of this.#waiting) {
      if (later.base && later.sent === undefined) this.#waiting.set(key, { ...later, base: advanced(advanced(later.base, last, later), own, later) })
    }
  }

  #confirm(entry, { cursor, revision }, value) {
    if (entry.isIncluded || revision <= this.#position.revision) this.#remove(entry)
    else this.#put({ ...entry, cursor, revision })
    this.#saveLater()
    this.#show()
    this.#settle({ key: entry.key, value })
  }

  async #resolve({ key }, current) {
    const command = { type: 'resolve', key, current }
    if (this.#writes.has(key)) return this.#execute(command).catch(report)
    const answer = this.#answer(command)
    this.#channel?.postMessage({ type: 'resolve', commands: [command] })
    const timer = this.#after(60_000, () => this.#accept([command]))
    const { value } = await answer
    this.#clear(timer)
    return value
  }

  async #refuse(entry, reason) {
    this.#put({ ...entry, refused: plain(reason) })
    this.#show()
    this.#settle({ key: entry.key, error: reason })
    await this.#save()
  }

  async #bearer(signal) {
    const { token: own, anonymous } = this.#session
    if (own && anonymous !== undefined) return own
    const { token } = this.#options
    const bearer = own ?? (typeof token === 'function' ? await token() : token)
    if (bearer && !same(this.#checked, [bearer, this.#session.user])) {
      const response = await this.#request('/v1/me', { signal, bearer })
      if (response.status !== 200 || !response.body?.id) throw new Refused(response)
      const { user } = this.#session
      const found = accountOf(response.body)
      const isOther = user && user !== found.user
      await this.#enterAs(old => ({ ...old, ...found }), isOther, signal)
      this.#checked = [bearer, found.user]
      if (isOther) this.#dispatch({ type: 'login' })
    }
    return bearer
  }

  async #request(path, { method = 'GET', body, headers, signal, bearer, onEvent }) {
    bearer ??= await this.#bearer(signal)
    if (bearer == null) return failure('No session', 401)
    const controller = new AbortController()
    signal?.throwIfAborted()
    signal?.addEventListener('abort', () => controller.abort(), { signal: controller.signal })
    let timer
    const restart = () => {
      this.#clear(timer)
      timer = bearer && this.#after(method === 'DELETE' ? 10_000 : 45_000, () => controller.abort(failure('The server is silent')))
    }
    restart()
    try {
      const response = await (0, this.#options.fetch)(this.#url + path, {
        method, signal: controller.signal, keepalive: method === 'DELETE', cache: 'no-store', body: body && JSON.stringify(body),
        headers: {
          ...bearer && { Authorization: `Bearer ${bearer}` }, ...body && { 'Content-Type': 'application/json' },
          ...onEvent && { Accept: 'text/event-stream' }, ...headers
        }
      })
      const { status, headers: fields } = response
      this.#date = Date.parse(fields.get('Date'))
      if (onEvent && response.ok) await readEvents(response.body, controller.signal, restart, onEvent)
      const document = /json/.test(fields.get('Content-Type')) && await response.json()
      return {
        status, body: document, ...document?.status === status && /^\/problems\//.test(document.type) && { problem: document },
        revision: Number(fields.get('Revision') ?? -1),
        retryAfter: Number(fields.get('Retry-After')) || 0
      }
    } finally {
      controller.abort()
      this.#clear(timer)
    }
  }

  async #waitToLead(signal) {
    while (!signal.aborted) {
      await this.#locks.request(this.#name, { signal }, async () => {
        if (await this.#load() && !signal.aborted) await this.#lead(signal)
      }).catch(() => {
        if (!this.#isLeader && signal.aborted) return
        this.#lose()
        this.#dispatch({ type: 'stop' })
      })
    }
  }

  async #lead(signal) {
    this.#isLeader = true
    this.#number = this.#options.random()
    this.#state = idle
    this.#dispatch({ type: 'start' })
    this.#broadcast({ copy: this.#copy, isNew: true })
    this.#renew()
    this.#end()
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    while (this.#running.size) await Promise.all(this.#running)
    this.#isLeader = false
    await this.#save()
  }

  #broadcast(more) {
    const rows = [...this.#news]
    this.#news.clear()
    if (!more && !rows[0] || !this.#isLeader || !this.#on) return
    this.#channel?.postMessage({
      view: [++this.#number, this.#position], state: this.#state, session: this.#session,
      storeError: this.storeError && String(this.storeError), rows: more?.copy ? [...this.#confirmed, ...this.#waiting, ...this.#refused] : rows, ...more
    })
  }

  #receive({ type, commands, answers, view, state, session, storeError, copy, isNew, rows, document, settled }) {
    if (type === 'hello') return this.#broadcast({ copy: this.#copy })
    if (commands) {
      const work = async () => {
        await this.#locks.query()
        if (type === 'ask' ? !this.#isLeader : !this.#writes.has(commands[0].key)) return
        const answers = await this.#perform(commands)
        this.#channel?.postMessage({ answers: answers.map(({ error, ...rest }) => ({ ...rest, error: error && plain(error) })) })
      }
      return type === 'ask' ? this.#run(work) : work()
    }
    if (answers) this.#accept(answers)
    this.#watch()
    if (answers || this.#isLeader) return
    this.#state = state
    this.#session = session
    this.storeError = storeError
    this.#tell()
    if (isNew) this.#renew()
    const isNext = view[0] === this.#number + 1
    if (copy) {
      copy.forEach(freeze)
      this.#copy = copy
      this.#take(none)
    }
    if (copy || isNext) {
      if (document) this.#merge(document)
      for (const [key, entry] of rows) entry ? this.#put(freeze(entry)) : this.#remove(this.#find(key) ?? { key, actions: none });
      [this.#number, this.#position] = view
    } else if (this.#number !== undefined) {
      this.#number = undefined
      this.#channel.postMessage({ type: 'hello' })
    }
    for (const entry of this.#unsaved.values()) if (entry.user && entry.user !== session.user) this.#remove(entry)
    this.#rows.clear()
    this.#show()
    if (settled) this.#settle(settled)
  }

  #listen(signal) {
    const { document } = globalThis
    const on = (target, name, body) => target?.addEventListener?.(name, () => this.#isLeader && body(), { signal })
    on(globalThis, 'online', () => this.#dispatch({ type: 'wake' }))
    on(document, 'visibilitychange', () => document.hidden ? this.#save() : this.#dispatch({ type: 'visible' }))
    let last = this.#options.now()
    let timer
    const tick = () => {
      if (this.#isLeader && Math.abs(this.#options.now() - last) > 40_000) this.#dispatch({ type: 'wake' })
      last = this.#options.now()
      if (this.#isLeader) this.#end()
      timer = this.#after(10_000, tick)
    }
    tick()
    signal.onabort = () => this.#clear(timer)
  }
}

const isRefusal = ({ status, problem, retryAfter }) => problem && !retryAfter && /^(507|4(?!01|08|29))/.test(status)

const rowName = key => `o:${key}`

const isShown = ({ refused, isIncluded }) => !refused && !isIncluded

const shownEntry = ({ key, at, actions, refused }) => ({ key, at, actions, ...refused, ...refused && { title: refused.problem.title } })

const accountOf = ({ id: user, email, anonymous = false }) => ({ user, email, anonymous })

const otherUser = 'The user has logged out, or another user has logged in'
const inDoubt = 'The server may have applied this change'

const collectionName = ({ module, payload }) => module === 'defaults' ? `defaults/${payload.suite ?? 'standard'}` : module

const subject = ({ payload }) => payload.id ?? payload.key

const covers = (left, right) => right.every(action => left.some(other =>
  collectionName(other) === collectionName(action) && (subject(other) ?? subject(action)) === subject(action)))

const advanced = (base, { cursor, revision, from, covered, since }, { actions }) =>
  base.revision < revision && (from <= base.revision || since <= base.revision && covers(covered, actions)) ? { cursor, revision } : base

const randomID = () => [0, 0, 0].map(Math.random).join('')

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
