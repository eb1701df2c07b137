// Entries of the journal, and the panel with one entry.
import { button, copy, copyCurl, count, el, empty, facts, nameOf, notice, plain, shortId, tabs, timeElement, userText } from './elements.js'
import { content, differenceOf, tree } from './json.js'
import { Refusal, collectionPath, get, userPath } from './server.js'

// ---- Cursors ------------------------------------------------------------------------------------

/** The parts of a user's cursor: `<store>.<number>-<era>.<registered>`. */
export function cursorParts(cursor) {
  const [, store, number, era] = /^([\w-]+)\.(\d+)(-\d+)?\./.exec(cursor) ?? []
  return store && { store, number: Number(number), era: era ?? '' }
}

const cursorOf = (store, number, era) => number === 0 ? `${store}.0.0` : `${store}.${number}${era}.0`

/** The state of a collection after a revision, as `content` returns it. */
export async function stateAt(user, collection, cursor, options) {
  return content(await get(collectionPath(user, collection, cursor), options))
}

/** The cursor of the revision before this one. Each run of the server has an era of its own. */
export async function cursorBefore(user, cursor, options) {
  const { store, number, era } = cursorParts(cursor)
  const guess = cursorOf(store, number - 1, era)
  const path = `${userPath(user, 'journal')}?limit=1&since=`
  if (!(await get(path + guess, options)).reset) return guess
  const { revisions } = await history(user, number, options)
  return revisions.findLast(revision => revision.number < number)?.cursor
}

const page = 1_000
export const historyLimit = 5_000

/**
 * The newest kept revisions of a user, at most 5,000, oldest first: each has its number, cursor, time and
 * entries. `isWhole` tells that they begin with the first revision.
 */
export async function history(user, upTo, options) {
  const path = `${userPath(user, 'journal')}?limit=${page}`
  const devices = get(userPath(user, 'sessions'), options).then(({ items }) => new Map(items.map(item => [item.id, item.device])))
  // The first request that fails is the one to report.
  devices.catch(() => {})
  const now = cursorParts((await get(`${path}&since=now`, options)).cursor)
  let since = now && now.number > historyLimit ? cursorOf(now.store, now.number - historyLimit, now.era) : undefined
  const revisions = []
  for (;;) {
    const { entries, cursor, reset } = await get(since ? `${path}&since=${since}` : path, options)
    if (reset) revisions.length = 0
    for (const entry of entries) {
      const { number } = cursorParts(entry.cursor)
      if (revisions.at(-1)?.number !== number) revisions.push({ number, cursor: entry.cursor, at: entry.at, entries: [] })
      revisions.at(-1).entries.push(entry)
    }
    if (revisions.length > 2 * historyLimit) revisions.splice(0, revisions.length - historyLimit)
    if (!entries.length || cursorParts(cursor).number >= Math.min(now.number, upTo ?? Infinity)) break
    since = cursor
  }
  revisions.splice(0, revisions.length - historyLimit)
  // A user's journal names only the session. Sessions that have ended keep their id.
  const named = await devices
  for (const { entries } of revisions) for (const entry of entries) entry.device = named.get(entry.session) ?? undefined
  return { revisions, isWhole: !revisions.length || revisions[0].number === 1, store: now?.store, now }
}

// ---- Entries ------------------------------------------------------------------------------------

export function collectionOf(entry) {
  return entry.module === 'defaults' ? `defaults/${entry.action?.payload?.suite ?? 'standard'}` : entry.module
}

const subject = payload => payload?.id ?? payload?.key ?? ''

/** An action in one line: its type and the element that it is about. */
export function actionText({ action }) {
  if (!action) return 'unreadable'
  return [action.type, subject(action.payload)].filter(Boolean).join(' ')
}

/** The mutations in one line: how many of each type. */
export function mutationText({ mutations }) {
  if (!mutations) return 'unreadable'
  if (!mutations.length) return 'no change'
  const types = new Map()
  for (const { type } of mutations) types.set(type, (types.get(type) ?? 0) + 1)
  return [...types].map(([type, number]) => number > 1 ? `${type} × ${number}` : type).join(', ')
}

export const deviceText = entry => entry.by ? `by ${entry.by}` : entry.device ?? (entry.session ? shortId(entry.session) : '–')

// ---- Users' addresses ---------------------------------------------------------------------------

const addresses = new Map()
const waiting = []
let running = 0

/** The e-mail address of a user if it is known. Otherwise looks it up, then calls `found`. */
export function emailOf(user, found) {
  const known = addresses.get(user)
  if (typeof known === 'string') return known
  if (known) known.push(found)
  else {
    addresses.set(user, [found])
    waiting.push(user)
    lookUp()
  }
}

export const learn = (user, email) => {
  const known = addresses.get(user)
  addresses.set(user, email)
  if (Array.isArray(known)) for (const found of known) found?.(email)
}

export const forgetAddresses = () => addresses.clear()

async function lookUp() {
  if (running >= 4 || !waiting.length) return
  running++
  const user = waiting.pop()
  try {
    learn(user, nameOf(await get(userPath(user))))
  } catch (error) {
    learn(user, error instanceof Refusal && error.status === 404 ? `${shortId(user)} (erased)` : shortId(user))
  }
  running--
  lookUp()
}

/** An element with the address of a user, or with the id until the address is known. */
export function userElement(user, isLink) {
  const element = el(isLink ? 'a' : 'bdi', isLink ? { href: `#/users/${user}` } : {})
  const known = emailOf(user, email => { element.textContent = plain(email) })
  element.textContent = plain(known ?? shortId(user))
  return element
}

// ---- The panel ----------------------------------------------------------------------------------

/**
 * A panel with an entry. `source` is the path from which the entry can be had; `change` gets the name of
 * a chosen tab.
 */
export function entryPanel({ user, entry, source, tab, change, close, signal }) {
  const parts = cursorParts(entry.cursor)
  const collection = collectionOf(entry)
  let states
  const load = () => states ??= (async () => {
    const before = await cursorBefore(user, entry.cursor, { signal })
    const [old, now] = await Promise.all([
      before && stateAt(user, collection, before, { signal }), stateAt(user, collection, entry.cursor, { signal })
    ])
    return { before, old, now }
  })()
  const missing = () => notice('note', 'The state before is pruned', 'The history begins with this revision.')
  const state = (value, cursor) => [
    el('div', { class: 'buttons' }, copyCurl(collectionPath(user, collection, cursor))), tree(value, 2)
  ]
  const all = [
    { name: 'action', title: 'Action', show: () => tree(entry.action, 3) },
    {
      name: 'mutations', title: 'Mutations',
      show: () => entry.mutations?.length ? tree(entry.mutations, 3) : empty('No mutation', 'The action changed nothing.')
    },
    { name: 'difference', title: 'Difference', show: async () => (({ before, old, now }) => before ? differenceOf(old, now) : missing())(await load()) },
    { name: 'before', title: 'State before', show: async () => (({ before, old }) => before ? state(old, before) : missing())(await load()) },
    { name: 'after', title: 'State after', show: async () => state((await load()).now, entry.cursor) }
  ]
  return el('aside', {
    class: 'details', 'aria-label': 'Entry', tabindex: -1,
    onkeydown: event => { if (event.key === 'Escape') { event.preventDefault(); close() } }
  },
  el('header', {}, el('h2', {}, el('bdi', {}, plain(actionText(entry)))), button('Close', close, { class: 'minor' })),
  facts([
    ['Time', timeElement(entry.at)],
    ['User', userElement(user, true)],
    ['Collection', userText(collection)],
    ['Revision', parts ? parts.number.toLocaleString('en') : plain(entry.cursor)],
    ['Device', userText(deviceText(entry))]
  ]),
  el('div', { class: 'buttons' },
    el('a', { class: 'button minor', href: `#/time/${user}?revision=${parts?.number}&collection=${encodeURIComponent(collection)}` }, 'Time travel'),
    copyCurl(source), button('Copy the entry', () => copy(JSON.stringify(entry, null, 2)), { class: 'minor' })),
  tabs('Parts of the entry', all, tab, change))
}

// ---- A test of the actions ----------------------------------------------------------------------

/** A script that performs the actions of these revisions as a new user, in the same transactions. */
export function testScript(revisions, { isWhole, origin }) {
  const quoted = value => JSON.stringify(value).replaceAll("'", "'\\''")
  const steps = revisions.map(({ number, entries }) => {
    const actions = entries.filter(entry => entry.action).map(({ module, action }) => ({ module, ...action }))
    return `# Revision ${number}\nact '${quoted({ actions })}'`
  })
  return [
    '#!/usr/bin/env bash', `# Performs ${count(revisions.length, 'transaction')} again, as a new user.`,
    !isWhole && `# The history before revision ${revisions[0]?.number} is pruned: this begins with an empty state.`,
    'set -euo pipefail', `SERVER=\${SERVER:-${origin}}`, 'EMAIL=test-$RANDOM$RANDOM@example.com',
    `TOKEN=$(curl -sS --fail-with-body "$SERVER/v1/users" -d "{\\"email\\":\\"$EMAIL\\",\\"password\\":\\"correct horse\\"}" |`,
    `  sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`,
    'act() { printf %s "$1" | curl -sS --fail-with-body "$SERVER/v1/actions" -H "Authorization: Bearer $TOKEN" --data-binary @-; echo; }', '', ...steps, '',
    '# The state after it', 'curl -sS --fail-with-body "$SERVER/v1/changes" -H "Authorization: Bearer $TOKEN"', ''
  ].filter(line => line !== false).join('\n')
}

