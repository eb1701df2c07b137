// Checks the output of `lockstep typescript` with TypeScript.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Server } from './server.js'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const strict = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'es2022', '--moduleResolution', 'node', '--lib', 'es2022,dom,dom.iterable']

/** Uses the types of the built-in modules and screens with the client's. */
const usage = `
import { Lockstep } from '../../lockstep.js'
import type { Collections, DefaultsAction, FavoritesAction, FavoritesElement, LoginAction, LoginState, PhotoDetailArguments, ProfileKey, ProfileState } from './server-types.js'

const lockstep = new Lockstep('https://state.example')
const favorites = lockstep.list<FavoritesElement>('favorites')
const titles: (string | undefined)[] = favorites.value.map(favorite => favorite.title)
const since: string = favorites.value[0]!.addedAt
const theme: DefaultsAction = { type: 'set', payload: { key: 'theme', value: { dark: true } } }
const actions: FavoritesAction[] = [{ type: 'update', payload: { id: 'a', title: null } }, { type: 'clear' }]
lockstep.transaction(t => {
  t.do('defaults', theme.type, theme.payload)
  for (const action of actions) t.do('favorites', action.type, action.payload)
})
const key: ProfileKey = 'position'
const position: ProfileState[ProfileKey] = lockstep.map('profile').get<string>(key)
const show = (state: LoginState): string => state.usernameValidation.kind === 'failed' ? state.usernameValidation.message : state.username
const login: LoginAction[] = [{ type: 'setUsername', payload: { value: 'ada' } }, { type: 'submit' }]
const photo: PhotoDetailArguments = { photoId: 'photo:1' }
console.log(titles, since, position, show, login, photo)
// @ts-expect-error There is no such action.
const wrongType: FavoritesAction = { type: 'nothing' }
// @ts-expect-error The index is missing.
const wrongPayload: FavoritesAction = { type: 'move', payload: { id: 'a' } }
const typed = new Lockstep<Collections>('https://state.example')
typed.list('favorites').put('a', { title: 'Aurora', data: { stars: 5 } })
typed.map('profile').save({ position: 'Chief' })
typed.suite().set('theme', 'dark')
// @ts-expect-error There is no such list.
typed.list('favourites')
// @ts-expect-error A title is a string.
typed.list('favorites').put('a', { title: 5 })
// @ts-expect-error The profile has no such member.
typed.map('profile').save({ salary: 1 })
// @ts-expect-error An element does not change.
favorites.value[0]!.title = 'New'
`

async function check(url, name, text) {
  const folder = await mkdtemp(join(here, 'generated-'))
  try {
    const { stdout } = await run(process.env.LOCKSTEP_BINARY, ['typescript', '--url', url])
    await writeFile(join(folder, 'server-types.ts'), stdout)
    if (text) await writeFile(join(folder, name), text)
    await run('tsc', [...strict, join(folder, name)]).catch(error => assert.fail(error.stdout || error))
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('The types of the built-in modules and screens fit those of the client', { timeout: 300_000 }, async () => {
  const server = await Server.start()
  try {
    await check(server.url, 'usage.ts', usage)
  } finally {
    await server.stop()
  }
})

/** Uses the types of declared collections with the client's. */
const declaredUsage = `
import { Lockstep } from '../../lockstep.js'
import type { Collections, PlaylistAction, PlaylistElement, ScoresAction, ScoresValue } from './server-types.js'

const lockstep = new Lockstep('https://state.example')
const playlist = lockstep.list<PlaylistElement>('playlist')
const song: string | undefined = playlist.value[0]?.data.song
const score: ScoresValue = lockstep.map('scores').get<ScoresValue>('level1', 0)
const actions: PlaylistAction[] = [
  { type: 'add', payload: { id: 'a', data: { song: 'Aria', class: 'x' } } },
  { type: 'update', payload: { id: 'a', data: { stars: 1 } } }
]
const scores: ScoresAction = { type: 'merge', payload: { values: { level1: 7, level2: null } } }
console.log(song, score, actions, scores)
const typed = new Lockstep<Collections>('https://state.example')
typed.list('playlist').put('a', { data: { song: 'Aria', class: 'x' } })
typed.list('playlist').update('a', { data: { stars: 1 } })
typed.map('scores').set('level1', 7)
typed.map('self').set('key', { type: 'x' })
// @ts-expect-error The data is missing.
typed.list('playlist').put('a', { title: 'Aria' })
// @ts-expect-error The song is missing.
typed.list('playlist').put('a', { data: { class: 'x' } })
// @ts-expect-error There is no such class.
typed.list('playlist').update('a', { data: { class: 'z' } })
// @ts-expect-error A score is a number.
typed.map('scores').merge({ level1: 'high' })
// @ts-expect-error There is no such map.
typed.map('playlist')
// @ts-expect-error The data is missing.
const noData: PlaylistAction = { type: 'add', payload: { id: 'a' } }
// @ts-expect-error The song is missing.
const noSong: PlaylistAction = { type: 'add', payload: { id: 'a', data: { class: 'x' } } }
// @ts-expect-error A score is a number.
const noNumber: ScoresAction = { type: 'set', payload: { key: 'level1', value: 'high' } }
`

test('The types of declared collections have those of their schemas', { timeout: 300_000 }, async () => {
  const administrator = 'administrator-token-of-32-characters'
  const server = await Server.start(['--admin-token', administrator])
  try {
    const song = { type: 'object', required: ['song', 'class'], properties: { song: { type: 'string' }, stars: { type: 'integer' }, class: { enum: ['x', 'y'] } } }
    const odd = { type: 'object', properties: { type: { type: 'string' }, class: { type: 'integer' }, 'a-b': { const: 'c' }, '': { type: ['string', 'null'] } } }
    const declare = (name, kind, schema) => server.request(administrator, `/v1/admin/collections/${name}`, 'PUT', { kind, schema })
    await declare('playlist', 'list', song)
    await declare('scores', 'map', { type: 'integer' })
    for (const name of ['self', 'type', 'class', 'string', 'json', 'favoritesElement', 'any']) await declare(name, 'map', odd)
    await check(server.url, 'usage.ts', declaredUsage)
  } finally {
    await server.stop()
  }
})

test('The types of a hostile catalogue compile', { timeout: 300_000 }, async () => {
  const catalogue = await readFile(join(here, '../../Tests/LockstepTestSupport/hostile-catalogue.json'))
  const server = createServer((_, response) => response.end(catalogue))
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    await check(`http://127.0.0.1:${server.address().port}`, 'server-types.ts')
  } finally {
    server.close()
  }
})
