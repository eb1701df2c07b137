// Uses every public name of the client. Only its types are checked; it never runs.
import {
  Lockstep, Refused, apply, difference, next, type Action, type Change, type ConnectionEvent, type ConnectionState,
  type Content, type Credentials, type Entry, type Item, type Json, type List, type ListChange, type MapChange,
  type Options, type Problem, type Session, type State, type StateName, type Store, type User, type Values, type Write,
  type WriteOptions
} from '../lockstep.js'

interface Song { readonly id: string; readonly title?: string; readonly data: { seconds: number } }

const rows = new Map<string, unknown>()
const store: Store = {
  read: async key => rows.get(key),
  write: async changes => { for (const [key, value] of changes) rows.set(key, value) }
}
const options: Options = {
  token: async () => null, name: 'ada', collections: ['favorites'], transport: 'events', store, fetch, now: Date.now,
  random: Math.random, setTimeout: (body, ms) => setTimeout(body, ms), clearTimeout: timer => clearTimeout(timer),
  reducers: { notes: { add: (value: readonly Json[], payload) => [...value, payload] } }
}
const lockstep = new Lockstep(new URL('https://state.example'), options)
new Lockstep('https://state.example', { token: 'token', transport: 'poll' })

export async function useAll(): Promise<void> {
  lockstep.start()
  const credentials: Credentials = { email: 'ada@example.com', password: 'correct horse', device: 'phone' }
  const session: Session = await lockstep.signUp(credentials)
  const { user, token }: Session = await lockstep.logIn({ email: user_(session), password: '' })
  await lockstep.signUp({ anonymous: true, device: 'phone' })
  await lockstep.logIn({ idToken: token })
  console.log(user.id, token)

  const songs: List<Song> = lockstep.list<Song>('songs')
  const content: Content<Song> = { title: 'Aurora', data: { seconds: 2 } }
  const resolving: WriteOptions<Song> = {
    ifUnchanged: true,
    resolve: (current, mine): Action[] => current ? mine : []
  }
  const writes: Write[] = [
    songs.put('a', content, resolving), songs.update('a', { title: null }), songs.remove('a'), songs.move('a', 0),
    songs.toggle('a'), songs.clear()
  ]
  const off: () => void = songs.subscribe((value: readonly Song[], change: Change<readonly Song[], ListChange<Song>>) => {
    const { previous, changeset, origin } = change
    console.log(value.length - previous.length, changeset?.moves[0]?.to, origin === 'server')
  })
  off()
  const seconds: number | undefined = songs.get('a')?.data.seconds
  for (const song of songs) console.log(song.id, seconds)
  const favorites: readonly Item[] = lockstep.list('favorites').value
  console.log(favorites, songs.name, songs.isReady, songs.snapshot())
  // @ts-expect-error Values are frozen.
  songs.value.push({ id: 'b', data: { seconds: 1 } })

  const settings: Values = lockstep.suite()
  const theme: string = settings.get('theme', 'light')
  const size: number | undefined = lockstep.suite('editor').get<number>('size')
  writes.push(
    settings.set('theme', theme), settings.remove('theme'), settings.increment('opened'), settings.increment('opened', 2),
    settings.merge({ theme: null, size }), settings.clear(), lockstep.map('profile').save({ position: 'Chief' })
  )
  settings.subscribe((_, { changeset }) => { const change: MapChange | undefined = changeset; console.log(change?.removed) })
  for (const [key, value] of settings) console.log(key, value)

  const write = lockstep.transaction(t => {
    t.do('favorites', 'move', { id: 'a', index: 0 })
    t.do('favorites', 'clear')
  }, { ifUnchanged: true })
  await write.saved
  try {
    const { cursor, results } = await write.confirmed
    console.log(write.key, cursor, results[0]?.mutations[0]?.type)
  } catch (error) {
    if (error instanceof Refused) {
      const problem: Problem | undefined = error.problem
      console.log(error.status, problem?.title, error.title)
    }
  }
  const isCancelled: boolean = await write.cancel()

  const state: State = lockstep.state
  const name: StateName = state.name
  console.log(isCancelled, name, state.pending, state.at, state.error?.message, state.storeError, lockstep.storeError)
  lockstep.onState(({ name }) => console.log(name === 'needsLogin'))()
  const entries: readonly Entry[] = [...lockstep.pending, ...lockstep.refused]
  for (const entry of entries) {
    console.log(entry.key, entry.at, entry.actions[0]?.payload.id, entry.status, entry.problem?.detail, entry.title)
    await lockstep.retry(entry)
    await lockstep.dismiss(entry)
  }
  const current: User | undefined = lockstep.user
  lockstep.onUser(user => console.log(user?.email === current?.email, user?.anonymous))()
  console.log(session.user.anonymous, session.user.emailVerified)
  await lockstep.logOut()
  await lockstep.logOut({ keepCopy: true })
  await lockstep.stop()
}

function user_(session: Session): string { return session.user.email ?? '' }

const event: ConnectionEvent = 'noResponse'
const [after, commands]: [ConnectionState, readonly string[]] = next({ name: 'live', attempt: 0 }, { type: event, at: 1 })
// @ts-expect-error There is no such event.
next(after, { type: 'nothing' })
const items: readonly Item[] = apply<readonly Item[]>([], { kind: 'list', items: [] })
const change: ListChange<Item> = difference(items, items)
const mapChange: MapChange = difference({}, { a: 1 })
console.log(commands, change.deletions, mapChange.set)

interface Collections {
  lists: { songs: Song; favorites: Item }
  maps: { profile: { readonly position?: string }; scores: { readonly [key: string]: number } }
}
const typed = new Lockstep<Collections>('https://state.example')
const song = typed.list('songs')
song.put('a', { data: { seconds: 1 }, title: 'Aria', index: 0 })
song.update('a', { data: { seconds: 2 }, title: null })
const length: number | undefined = song.get('a')?.data.seconds
typed.list('favorites').put('b')
const score: number = typed.map('scores').get('level1', 0)
typed.map('scores').set('level1', score + (length ?? 0))
typed.map('profile').save({ position: 'Chief' })
// @ts-expect-error There is no such collection.
typed.list('song')
// @ts-expect-error `data` is missing.
song.put('a', { title: 'Aria' })
// @ts-expect-error `data` is missing.
song.put('a')
// @ts-expect-error The seconds are a number.
song.put('a', { data: { seconds: '1' } })
// @ts-expect-error The seconds are a number.
song.update('a', { data: { seconds: '1' } })
// @ts-expect-error `seconds` is required, so it cannot be removed.
song.update('a', { data: { seconds: null } })
// @ts-expect-error An element has no such member.
song.update('a', { name: 'Aria' })
// @ts-expect-error A score is a number.
typed.map('scores').set('level1', 'high')
// @ts-expect-error The profile has no such member.
typed.map('profile').save({ salary: 1 })
