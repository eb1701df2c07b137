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
  /** Why this device does not keep the copy and the writes: the failure of the store of the leading tab. */
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
  /** A short sentence for users. `message` is for developers. */
  readonly title: string
}

/** The user whose data a client has. */
export interface User {
  readonly id: string
  /** Missing if the user has no address. */
  readonly email?: string
  /** Whether the user has neither an address nor an identity of an issuer. */
  readonly anonymous: boolean
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
   * a user who is no longer logged in, and a write that may have been applied more than a day ago.
   * `results` is empty if the client knows only from the feed that the server has applied the write,
   * because it got no response within 23 hours.
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
  /** Of a refused write: a short sentence for users. */
  readonly title?: string
}

export interface WriteOptions<Value = any> {
  /** Apply the write only if what it changes has not changed since the app has seen it. */
  ifUnchanged?: boolean
  /**
   * Merges a write with the present value, and returns the actions to send instead. If it returns no
   * action, the client drops the write: `confirmed` rejects with the status 412, and the write is not
   * in `refused`. If the page that made the write is closed, the write is refused.
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

/** An element of a list. */
export interface Item {
  readonly id: string
  readonly title?: string
  readonly data?: Json
  readonly addedAt: string
  readonly updatedAt: string
}

/** The members of an element that are not its content. */
type Fixed = 'id' | 'index' | 'addedAt' | 'updatedAt'

/** Where any JSON is allowed, an app may pass a value of any type. */
type Sent<Value> = [Json] extends [Value] ? unknown : Value

type OrNull<Value> = undefined extends Value ? null : never

/** The content of an element of a list. */
export type Content<Element = Item> = {
  -readonly [Name in keyof Element as Name extends Fixed ? never : Name]: Sent<Exclude<Element[Name], undefined>> | OrNull<Element[Name]>
}

/** A merge patch (RFC 7396). Null removes a member that is optional. */
export type Patch<Value> = [Json] extends [Value] ? unknown
  : Value extends readonly unknown[] ? Value
  : Value extends object ? { -readonly [Name in keyof Value]?: Patch<Exclude<Value[Name], undefined>> | OrNull<Value[Name]> }
  : Value

export interface List<Element = Item> extends Collection<readonly Element[], ListChange<Element>>, Iterable<Element> {
  get(id: string): Element | undefined
  /** Adds an element, at the end or at `index`, or replaces its content. */
  put(id: string, ...content: {} extends Content<Element>
    ? [content?: Content<Element> & { index?: number }, options?: WriteOptions<Element>]
    : [content: Content<Element> & { index?: number }, options?: WriteOptions<Element>]): Write
  update(id: string, patch: Patch<Omit<Element, Fixed>>, options?: WriteOptions<Element>): Write
  remove(id: string, options?: WriteOptions<Element>): Write
  move(id: string, index: number, options?: WriteOptions<Element>): Write
  toggle(id: string, content?: Partial<Content<Element>> & { index?: number }, options?: WriteOptions<Element>): Write
}

/** A map whose values may be any JSON. */
export interface Values extends Collection<{ readonly [key: string]: Json }, MapChange>, Iterable<[string, Json]> {
  get<Value = Json>(key: string): Value | undefined
  get<Value>(key: string, fallback: Value): Value
  set(key: string, value: unknown, options?: WriteOptions): Write
  remove(key: string, options?: WriteOptions): Write
  increment(key: string, by?: number, options?: WriteOptions): Write
  merge(values: { [key: string]: unknown }, options?: WriteOptions): Write
  save(fields: { [name: string]: unknown }, options?: WriteOptions): Write
}

/** A map whose values have types: those of the members of `State`. */
export interface TypedValues<State extends object> extends Collection<State, MapChange>, Iterable<[string, State[keyof State]]> {
  get<Key extends keyof State & string>(key: Key): State[Key] | undefined
  get<Key extends keyof State & string, Fallback>(key: Key, fallback: Fallback): Exclude<State[Key], undefined> | Fallback
  set<Key extends keyof State & string>(key: Key, value: Exclude<State[Key], undefined>, options?: WriteOptions): Write
  remove(key: keyof State & string, options?: WriteOptions): Write
  increment(key: keyof State & string, by?: number, options?: WriteOptions): Write
  merge(values: { [Key in keyof State]?: State[Key] | null }, options?: WriteOptions): Write
  save(fields: Partial<State>, options?: WriteOptions): Write
}

/**
 * The collections of a server, by name: the element of each list, and the values of each map. `lockstep
 * typescript` prints this type for a server.
 */
export interface Schema {
  lists: { [name: string]: any }
  maps: { [name: string]: any }
}

/** Any name, with elements and values of any type. */
export interface AnySchema {
  lists: { [name: string]: Item }
  maps: { [name: string]: unknown }
}

type MapOf<State> = unknown extends State ? Values : State extends object ? TypedValues<State> : never

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
  user: { id: string; email: string | null; emailVerified: boolean; anonymous?: true; createdAt: string }
  token: string
  expiresAt: string
  session: { id: string; device: string | null; createdAt: string }
}

/**
 * Keeps a copy of a user's state, shows the app's writes on top of it, and sends them in order. With a
 * `Schema`, TypeScript checks the names of collections and the contents of writes.
 */
export declare class Lockstep<Collections extends Schema = AnySchema> {
  constructor(url: string | URL, options?: Options)
  /** Connects. In the states `needsLogin` and `failed`, it tries again. */
  start(): void
  /**
   * Resolves when nothing runs any more, after `saved` of all writes that were made before. If another
   * tab leads and is silent, this takes some seconds.
   */
  stop(): Promise<void>
  /** A list. Without a `Schema`, give the type of its elements: `list<Song>('songs')`. */
  list<Element = never, Name extends keyof Collections['lists'] & string = keyof Collections['lists'] & string>(
    name: Name
  ): List<[Element] extends [never] ? Collections['lists'][Name] : Element>
  suite(name?: string): Values
  map<Name extends keyof Collections['maps'] & string>(name: Name): MapOf<Collections['maps'][Name]>
  /** Several actions as one write: all or none. */
  transaction(body: (t: { do(module: string, type: string, payload?: object): void }) => void, options?: WriteOptions): Write
  /** The user whose data this client shows. Undefined if there is none. The same in all tabs. */
  readonly user: User | undefined
  /** Calls the listener when `user` has changed, before the collections change. */
  onUser(listener: (user: User | undefined) => void): () => void
  readonly state: State
  onState(listener: (state: State) => void): () => void
  /** The writes that the server has not confirmed, in order. The same reference until they change. */
  readonly pending: readonly Entry[]
  /** The writes that the server has refused. The view is without them. */
  readonly refused: readonly Entry[]
  /**
   * Sends a refused write again, as the newest one and without its condition. Rejects if this device
   * cannot store it; then it stays refused.
   */
  retry(entry: { key: string }): Promise<boolean>
  /** Forgets a refused write. */
  dismiss(entry: { key: string }): Promise<boolean>
  /** Why this device does not keep the copy and the writes: the failure of the store of the leading tab. */
  readonly storeError: unknown
  signUp(credentials: Credentials | Anonymous): Promise<Session>
  /** Continues with the outbox of the same user. Another user's copy and outbox are removed. */
  logIn(credentials: Credentials | IssuerToken): Promise<Session>
  /**
   * Ends the session, and removes the copy and the outbox from this device unless `keepCopy` is true.
   * Without a network, it resolves too, after two seconds at most. Then the client tries every ten
   * seconds to end the session.
   */
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
