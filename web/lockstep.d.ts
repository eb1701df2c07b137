// The types of lockstep.js: an ES module without dependencies for browsers, Node 18 and later, and
// Deno. It uses standard interfaces of the web only.

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

export type StateName = 'idle' | 'connecting' | 'live' | 'offline' | 'needsLogin' | 'failed' | 'stopped'

/** The state of the connection. */
export interface State {
  readonly name: StateName
  /** How many writes the server has not confirmed. */
  readonly pending: number
  /** The time of the next attempt, if the client is offline. */
  readonly at?: number
  readonly error?: Error
  /** Why this device does not keep the copy and the writes. */
  readonly storeError?: unknown
}

/** A problem document of the server (RFC 9457). */
export interface Problem {
  readonly type?: string
  readonly title: string
  readonly status: number
  readonly detail?: string
  readonly [member: string]: unknown
}

/** The server's refusal of a request, or the client's with the status 0. */
export declare class Refused extends Error {
  constructor(response: { status: number; problem?: Problem })
  readonly status: number
  readonly problem?: Problem
}

export interface Action {
  module: string
  type: string
  payload: { [name: string]: any }
}

/** A write that the app has made. */
export interface Write {
  readonly key: string
  /**
   * Resolves when the write is on this device. Rejects if the store refuses it: then the write is
   * not shown and not sent.
   */
  readonly saved: Promise<void>
  /**
   * Resolves when the server has committed the write. Rejects with `Refused` if the server refuses
   * it; then it is in `refused`. The client refuses, with the status 0: a cancelled write, writes of
   * a user who has logged out, and a write that may have been applied more than a day ago.
   */
  readonly confirmed: Promise<{ cursor: string; results: { mutations: { type: string; payload: Json }[] }[] }>
  /** Takes the write back. True if it was not sent yet. */
  cancel(): Promise<boolean>
}

export interface Entry {
  readonly key: string
  readonly at: number
  readonly actions: readonly Action[]
  /** Of a refused write. */
  readonly status?: number
  readonly problem?: Problem
}

export interface WriteOptions<Value = any> {
  /** Apply the write only if what it changes has not changed since the app has seen it. */
  ifUnchanged?: boolean
  /**
   * Merges a write with the present value: the actions to send instead. The write is refused if this
   * returns nothing, and if the page that made the write is closed.
   */
  resolve?(current: Value | null, mine: Action[]): Action[] | undefined | void | Promise<Action[] | undefined | void>
}

export interface ListChange<Item> {
  kind: 'list'
  deletions: { index: number; id: string }[]
  insertions: { index: number; item: Item }[]
  moves: { from: number; to: number; id: string }[]
  modifications: { index: number; newIndex: number; item: Item }[]
}

export interface MapChange {
  kind: 'map'
  set: { [key: string]: Json }
  removed: string[]
}

export interface Change<Value, Changeset> {
  readonly previous: Value
  /** Leads from `previous` to the new value. */
  readonly changeset?: Changeset
  readonly origin: 'local' | 'server'
}

interface Collection<Value, Changeset> {
  readonly name: string
  /** Frozen, and the same reference until it changes. */
  readonly value: Value
  /** Whether there is a copy, from this device or from the server. */
  readonly isReady: boolean
  /** Calls the listener after each change. Returns a function that ends the subscription. */
  subscribe(listener: (value: Value, change: Change<Value, Changeset>) => void): () => void
  /** The value, for `useSyncExternalStore` of React. */
  snapshot(): Value
  clear(options?: WriteOptions): Write
}

/** The content of an element of a list. */
export interface Content {
  title?: string | null
  data?: unknown
}

/** An element of a list. */
export interface Item {
  readonly id: string
  readonly title?: string
  readonly data?: Json
  readonly addedAt: string
  readonly updatedAt: string
}

export interface List<Element = Item> extends Collection<readonly Element[], ListChange<Element>>, Iterable<Element> {
  get(id: string): Element | undefined
  /** Adds an element, at the end or at `index`, or replaces its content. */
  put(id: string, content?: Content & { index?: number }, options?: WriteOptions<Element>): Write
  update(id: string, patch: Content, options?: WriteOptions<Element>): Write
  remove(id: string, options?: WriteOptions<Element>): Write
  move(id: string, index: number, options?: WriteOptions<Element>): Write
  toggle(id: string, content?: Content & { index?: number }, options?: WriteOptions<Element>): Write
}

export interface Values extends Collection<{ readonly [key: string]: Json }, MapChange>, Iterable<[string, Json]> {
  get<Value = Json>(key: string): Value | undefined
  get<Value>(key: string, fallback: Value): Value
  set(key: string, value: unknown, options?: WriteOptions): Write
  remove(key: string, options?: WriteOptions): Write
  increment(key: string, by?: number, options?: WriteOptions): Write
  merge(values: { [key: string]: unknown }, options?: WriteOptions): Write
  save(fields: { [name: string]: unknown }, options?: WriteOptions): Write
}

/**
 * Rows on this device, for one client at a time. `write` is atomic, and copies the values before it
 * returns. A row whose value is undefined is removed.
 */
export interface Store {
  read(key: string): Promise<unknown>
  write(rows: [key: string, value: unknown][]): Promise<unknown>
}

export interface Options {
  /**
   * The session's token, if the app logs in by other means. If the server does not accept it, the
   * state is `needsLogin`. Call `start()` again when there is a new one.
   */
  token?: string | (() => string | null | undefined | Promise<string | null | undefined>)
  /** Names the copy on this device. Clients with the same name and server share it. */
  name?: string
  /** The collections to follow, such as `favorites` or `defaults/standard`. Default: all. */
  collections?: string[]
  transport?: 'poll' | 'events'
  /** Default: IndexedDB, or memory where there is none. */
  store?: Store
  /**
   * The effect of the actions of your own modules on a value: `reducers[module][type](value, payload,
   * now)` returns the new value. The list or the map has the module's name.
   */
  reducers?: { [module: string]: { [type: string]: (value: any, payload: any, now: number) => any } }
  fetch?: typeof fetch
  now?(): number
  random?(): number
  setTimeout?(body: () => void, ms: number): unknown
  clearTimeout?(timer: any): void
}

export interface Credentials {
  email: string
  password: string
  device?: string
}

/** A user without an address. Only the token of the session leads to the state. */
export interface Anonymous {
  anonymous: true
  device?: string
}

/** A token (JWT) of an issuer that the server accepts. */
export interface IssuerToken {
  idToken: string
  device?: string
}

export interface Session {
  user: { id: string; email: string | null; createdAt: string }
  token: string
  expiresAt: string
  session: { id: string; device: string | null; createdAt: string }
}

/** Keeps a copy of a user's state, shows the app's writes on top of it, and sends them in order. */
export declare class Lockstep {
  constructor(url: string | URL, options?: Options)
  /** Connects. In the states `needsLogin` and `failed`, it tries again. */
  start(): void
  /** Resolves when nothing runs any more. */
  stop(): Promise<void>
  list<Element = Item>(name: string): List<Element>
  suite(name?: string): Values
  map(name: string): Values
  /** Several actions as one write: all or none. */
  transaction(body: (t: { do(module: string, type: string, payload?: object): void }) => void, options?: WriteOptions): Write
  readonly state: State
  onState(listener: (state: State) => void): () => void
  /** The writes that the server has not confirmed, in order. The same reference until they change. */
  readonly pending: readonly Entry[]
  /** The writes that the server has refused. The view is without them. */
  readonly refused: readonly Entry[]
  /** Sends a refused write again, as the newest one and without its condition. */
  retry(entry: { key: string }): Promise<boolean>
  /** Forgets a refused write. */
  dismiss(entry: { key: string }): Promise<boolean>
  /** Why this device does not keep the copy and the writes. */
  readonly storeError: unknown
  signUp(credentials: Credentials | Anonymous): Promise<Session>
  /** Continues with the outbox of the same user. Another user's copy and outbox are removed. */
  logIn(credentials: Credentials | IssuerToken): Promise<Session>
  /** Ends the session, and removes the copy and the outbox from this device. */
  logOut(options?: { keepCopy?: boolean }): Promise<void>
}

/** A state of the connection's state machine. */
export interface ConnectionState {
  readonly name: StateName
  /** How many attempts have failed in a row. */
  readonly attempt: number
  readonly at?: number
  readonly error?: { status: number; problem?: Problem }
}

export type ConnectionEvent =
  | 'start' | 'stop' | 'response' | 'noResponse' | 'time' | 'wake' | 'visible' | 'unauthorized' | 'refused' | 'login'

/** The connection's state machine: the next state, and the commands to perform. */
export declare function next(
  state: ConnectionState,
  event: { type: ConnectionEvent; at?: number; error?: { status: number; problem?: Problem } }
): [ConnectionState, readonly ('connect' | 'disconnect' | 'wait' | 'send')[]]

/** The value after a changeset of the feed. The value before it stays as it is. */
export declare function apply<Value>(value: Value, change: object): Value

/** The changeset from one value to another, with the fewest moves. */
export declare function difference(before: readonly Item[], after: readonly Item[]): ListChange<Item>
export declare function difference(before: object, after: object): MapChange
