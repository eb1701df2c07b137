// One user: state, devices, waits, journal, account.
import { List, ago, ask, button, bytes, copy, copyCurl, count, el, empty, facts, failure, field, nameOf, plain, say, shortId, time, timeElement, userText } from './elements.js'
import { actionText, collectionOf, cursorParts, deviceText, entryPanel, history, historyLimit, learn, mutationText } from './journal.js'
import { inline, tree } from './json.js'
import { Refusal, collectionPath, get, newKey, request, userPath } from './server.js'

const pages = [['', 'State'], ['devices', 'Devices'], ['waits', 'Waits'], ['journal', 'Journal'], ['account', 'Account']]

export const title = 'User'

export async function show(main, page) {
  const { parts: [, id, name = ''], signal } = page
  // Requested together, because states are long.
  const reading = name ? undefined : readState(id, signal)
  reading?.catch(() => {})
  const user = await get(userPath(id), { signal })
  learn(id, nameOf(user))
  page.name(nameOf(user))
  sessionStorage.setItem('lockstep-inspector-user', id)
  main.append(
    facts([
      ['Id', el('span', {}, el('code', {}, plain(user.id)), ' ', button('Copy', () => copy(user.id), { class: 'minor', 'aria-label': 'Copy the id' }))],
      ['Created', timeElement(user.createdAt)],
      ['Last seen', user.lastSeenAt ? el('time', { datetime: user.lastSeenAt, title: user.lastSeenAt }, ago(user.lastSeenAt)) : 'never'],
      ['Revision', user.revision.toLocaleString('en')],
      ['Size', bytes(user.bytes)],
      user.disabled && ['Account', el('span', { class: 'badge bad' }, 'disabled')]
    ]),
    el('nav', { class: 'tabs', 'aria-label': 'About this user' },
      pages.map(([part, text]) => el('a', { href: `#/users/${id}${part && '/'}${part}`, 'aria-current': part === name ? 'page' : undefined }, text)),
      el('a', { href: `#/time/${id}` }, 'Time travel'), el('a', { href: `#/act/${id}` }, 'Act')))
  const show = new Map(Object.entries({ '': state, devices, waits, journal, account })).get(name)
  if (!show) return main.append(empty('There is no such page'))
  await show(main, page, user, reading)
}

// ---- State --------------------------------------------------------------------------------------

const lengthOf = content => Array.isArray(content) ? content.length : Object.keys(content).length
const encoder = new TextEncoder()
const sizeOf = value => encoder.encode(JSON.stringify(value)).length

const measured = content => Array.isArray(content) ? content.reduce((sum, item) => sum + sizeOf(item), 0)
  : Object.entries(content).reduce((sum, [key, value]) => sum + encoder.encode(key).length + sizeOf(value), 0)

/**
 * The sizes of a collection, each with its quota: from the server's settings, or from the declaration of a
 * declared collection. The server does not publish the quotas of other modules.
 */
function quotas(name, content, { sizes, declared, configuration = {} }) {
  const suite = name.startsWith('defaults/') && sizes.get(name.slice('defaults/'.length))
  if (suite) return [['Keys', suite.count, configuration.maxDefaultKeys, String], ['Size', suite.bytes, configuration.maxSuiteBytes, bytes]]
  const quota = name === 'favorites' ? { elements: configuration.maxFavorites, bytes: configuration.maxFavoritesBytes } : declared.get(name)?.quota
  return [[Array.isArray(content) ? 'Elements' : 'Keys', lengthOf(content), quota?.elements, String], ['Size', measured(content), quota?.bytes, bytes]]
}

function meter([name, value, limit, text]) {
  const shown = limit ? `${text === String ? value.toLocaleString('en') : text(value)} of ${text === String ? limit.toLocaleString('en') : text(limit)}` : text(value)
  return el('div', { class: 'quota' }, el('span', {}, `${name}: ${shown}`),
    limit && el('progress', { max: limit, value, 'aria-label': `${name}: ${shown}` }))
}

const readState = (id, signal) => Promise.all([
  get(userPath(id, 'changes'), { signal }),
  get(userPath(id, 'defaults'), { signal }),
  get('/v1/admin/status', { signal }).then(status => status.configuration),
  // A server of another version may have no declared collections.
  get('/v1/admin/collections', { signal }).then(({ items }) => items, error => { if (error.status === 404) return []; throw error })
])

async function state(main, { query, setQuery, signal, register }, user, read) {
  const [changes, suites, configuration, declarations] = await read
  const collections = new Map(changes.changesets.map(({ collection, items, values }) => [collection, items ?? values]))
  const known = {
    sizes: new Map(suites.suites.map(suite => [suite.name, suite])),
    declared: new Map(declarations.map(declaration => [declaration.name, declaration])), configuration
  }
  if (!collections.size) {
    return main.append(empty('No state', 'This user has stored nothing yet.'))
  }
  const names = [...collections.keys()].sort()
  const choice = el('select', { onchange: () => { setQuery({ collection: choice.value, element: '' }); fill() } },
    names.map(name => el('option', { value: name }, `${plain(name)} (${lengthOf(collections.get(name)).toLocaleString('en')})`)))
  choice.value = collections.has(query.get('collection')) ? query.get('collection') : names.includes('favorites') ? 'favorites' : names[0]
  const search = el('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', 'data-search': true, value: query.get('text') ?? '', placeholder: 'any text' })
  let timer
  search.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => { setQuery({ text: search.value }); filter() }, 150)
  })
  const split = el('div', { class: 'split' })
  const limits = el('div', { class: 'quotas' })
  let list, rows, panel, none, registered

  async function fill() {
    const name = choice.value
    const content = collections.get(name)
    const isList = Array.isArray(content)
    limits.replaceChildren()
    // The size of a long list takes a while, so the list is shown first.
    setTimeout(() => choice.value === name && limits.replaceChildren(...quotas(name, content, known).map(meter)), 30)
    registered = new Set()
    rows = isList ? content.map((item, index) => ({ name: item.id, index, value: item }))
      : Object.entries(content).map(([name, value]) => ({ name, value }))
    list = new List({
      label: `Elements of ${name}`, kind: isList ? 'elements' : 'values',
      columns: isList ? [
        { name: 'Index', class: 'index number', show: row => row.index.toLocaleString('en') },
        { name: 'Id', class: 'id', show: row => userText(row.name) },
        { name: 'Title', class: 'name', show: row => row.value.title === undefined ? '' : userText(row.value.title) },
        { name: 'Data', class: 'data', show: row => row.value.data === undefined ? '' : el('bdi', {}, inline(row.value.data)) },
        { name: 'Changed', class: 'seen', show: row => row.value.updatedAt ? time(row.value.updatedAt) : '' }
      ] : [
        { name: 'Key', class: 'id', show: row => userText(row.name) },
        { name: 'Value', class: 'data', show: row => el('bdi', {}, inline(row.value)) },
        { name: 'Set by', class: 'origin', show: row => registered.has(row.name) ? el('span', { class: 'badge' }, 'registered') : 'user' }
      ],
      open: row => openRow(row, true), move: row => panel && openRow(row)
    })
    none = el('div')
    panel = undefined
    split.classList.remove('open')
    split.replaceChildren(el('div', { class: 'listed' }, list.element, none))
    filter()
    const element = query.get('element')
    const index = element ? rows.findIndex(row => row.name === element) : -1
    if (index >= 0) openRow(rows[index])
    if (!name.startsWith('defaults/')) return
    try {
      registered = new Set((await get(collectionPath(user.id, name), { signal })).registered)
      list.refresh(row => registered.has(row.name))
    } catch (error) {
      // The column then shows every value as the user's.
      if (error.isUnreachable) none.append(failure(error))
    }
  }
  function filter() {
    const wanted = search.value.toLowerCase()
    const shown = wanted ? rows.filter(row => row.name.toLowerCase().includes(wanted) || JSON.stringify(row.value).toLowerCase().includes(wanted)) : rows
    list.element.hidden = !shown.length
    list.update(shown)
    none.replaceChildren(shown.length ? '' : empty(wanted ? 'No element has this text' : 'This collection is empty'))
  }
  function openRow(row, isFocused) {
    setQuery({ element: row.name })
    panel?.remove()
    const path = Array.isArray(collections.get(choice.value)) || choice.value.startsWith('defaults/')
      ? `${collectionPath(user.id, choice.value)}/${encodeURIComponent(row.name)}` : collectionPath(user.id, choice.value)
    panel = el('aside', { class: 'details', 'aria-label': 'Element', tabindex: -1, onkeydown: event => event.key === 'Escape' && close() },
      el('header', {}, el('h2', {}, userText(row.name)), button('Close', close, { class: 'minor' })),
      el('div', { class: 'buttons' }, copyCurl(path), button('Copy the JSON', () => copy(JSON.stringify(row.value, null, 2)), { class: 'minor' })),
      tree(row.value, 3))
    split.append(panel)
    split.classList.add('open')
    if (isFocused) panel.focus()
  }
  function close() {
    panel?.remove()
    panel = undefined
    split.classList.remove('open')
    setQuery({ element: '' })
    list.element.focus()
  }
  register({ escape: () => panel && close() })
  main.append(el('div', { class: 'bar' }, field('Collection', choice), field('Search', search), limits,
    el('div', { class: 'end' }, copyCurl(() => [collectionPath(user.id, choice.value)]))), split)
  await fill()
}

// ---- Devices ------------------------------------------------------------------------------------

/** How many revisions a device is behind, computed from the `since` of its last request. */
function behind(cursor, revision) {
  if (!cursor) return el('span', { class: 'quiet' }, 'has not read changes yet')
  const number = cursorParts(cursor)?.number
  if (number === undefined || number > revision) return el('span', { class: 'badge bad' }, 'cursor from before a restore')
  return number === revision ? el('span', { class: 'badge good' }, 'up to date') : el('span', { class: 'badge' }, `${(revision - number).toLocaleString('en')} behind`)
}

async function devices(main, { signal, reload }, user) {
  const path = userPath(user.id, 'sessions')
  const { items } = await get(path, { signal })
  const end = item => ask({
    title: 'End this session?', confirm: 'End the session', danger: true,
    content: [el('p', {}, 'The device ', el('strong', {}, userText(item.device ?? 'without a name')), ' loses access at once, and has to log in again.')],
    more: copyCurl(`${path}/${item.id}`, { method: 'DELETE' }),
    act: async () => {
      await request(`${path}/${item.id}`, { method: 'DELETE' })
      say('The session has ended')
      reload()
    }
  })
  main.append(el('div', { class: 'bar' }, el('p', {}, count(items.length, 'session')), el('div', { class: 'end' }, copyCurl(path))))
  if (!items.length) return main.append(empty('No device is logged in'))
  main.append(table('Devices', ['Device', 'State', 'Last seen', 'Logged in', 'Session', ''], items.map(item => [
    userText(item.device ?? 'without a name'), behind(item.cursor, user.revision),
    el('time', { datetime: item.lastSeenAt, title: item.lastSeenAt }, ago(item.lastSeenAt)), timeElement(item.createdAt),
    el('code', { title: item.id }, shortId(item.id)), button('End', () => end(item), { class: 'minor', 'aria-label': `End the session of ${plain(item.device ?? item.id)}` })
  ])))
}

export const table = (label, names, rows) => el('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': label },
  el('table', {}, el('thead', {}, el('tr', {}, names.map(name => name ? el('th', { scope: 'col' }, name) : el('td')))),
    el('tbody', {}, rows.map(row => el('tr', {}, row.map(cell => el('td', {}, cell)))))))

// ---- Waits --------------------------------------------------------------------------------------

async function waits(main, page, user) {
  await waitList(main, page, wait => wait.user === user.id, 'No request of this user waits')
}

/** The requests that wait, read again every few seconds. */
export async function waitList(main, { signal, every, userCell }, isShown, none) {
  const place = el('div')
  main.append(el('div', { class: 'bar' }, el('p', {}, 'Requests that wait for a change, longest first.'), el('div', { class: 'end' }, copyCurl('/v1/admin/waits?limit=1000'))), place)
  let last
  await every(3_000, async () => {
    const all = (await get('/v1/admin/waits?limit=1000', { signal })).items.filter(isShown)
    const text = JSON.stringify(all)
    if (text === last) return
    last = text
    place.replaceChildren(all.length ? table('Requests that wait', [userCell && 'User', 'Resource', 'Since', 'Address', 'Client'].filter(Boolean), all.slice(0, 500).map(wait => [
      ...(userCell ? [userCell(wait.user)] : []), el('code', {}, plain(wait.resource)), timeElement(wait.since), plain(wait.address), userText(wait.userAgent ?? '–')
    ])) : empty(none))
  })
}

// ---- Journal ------------------------------------------------------------------------------------

async function journal(main, { query, setQuery, signal, register }, user) {
  const { revisions, isWhole } = await history(user.id, undefined, { signal })
  const all = revisions.flatMap(({ number, entries }) => entries.map((entry, position) => ({ entry, number, place: `${number}.${position}` }))).reverse()
  if (!all.length) return main.append(empty('No entry', 'This user has done nothing yet, or the history is pruned.'))
  let panel
  const split = el('div', { class: 'split' })
  const open = (item, isFocused) => {
    setQuery({ entry: item.place })
    panel?.remove()
    const parts = cursorParts(item.entry.cursor)
    panel = entryPanel({
      user: user.id, entry: item.entry, signal, tab: query.get('tab'), close, change: tab => { query.set('tab', tab); setQuery({ tab }) },
      source: `${userPath(user.id, 'journal')}?limit=1${parts.number > 1 ? `&since=${parts.store}.${parts.number - 1}${parts.era}.0` : ''}`
    })
    split.append(panel)
    split.classList.add('open')
    if (isFocused) panel.focus()
  }
  const close = () => {
    panel?.remove()
    panel = undefined
    split.classList.remove('open')
    setQuery({ entry: '' })
    list.element.focus()
  }
  const search = el('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', 'data-search': true, value: query.get('text') ?? '', placeholder: 'any text' })
  const filter = () => {
    const wanted = search.value.toLowerCase()
    list.update(wanted ? all.filter(({ entry }) => JSON.stringify(entry).toLowerCase().includes(wanted)) : all)
  }
  search.addEventListener('input', () => { setQuery({ text: search.value }); filter() })
  const list = new List({
    label: 'Journal, newest first', kind: 'journal',
    columns: [
      { name: 'Revision', class: 'revision number', show: item => item.number.toLocaleString('en') },
      { name: 'Time', class: 'time', show: item => time(item.entry.at) },
      { name: 'Device', class: 'device', show: item => userText(deviceText(item.entry)) },
      { name: 'Collection', class: 'collection', show: item => userText(collectionOf(item.entry)) },
      { name: 'Action', class: 'action', show: item => userText(actionText(item.entry)) },
      { name: 'Mutations', class: 'mutations', show: item => [el('span', { 'aria-hidden': 'true', class: 'arrow' }, '→ '), mutationText(item.entry)] }
    ],
    open: item => open(item, true), move: item => panel && open(item)
  })
  register({ escape: () => panel && close() })
  split.append(el('div', { class: 'listed' }, list.element))
  main.append(el('div', { class: 'bar' }, field('Search', search), el('div', { class: 'end' }, copyCurl(`${userPath(user.id, 'journal')}?limit=1000`))),
    el('p', { class: 'under quiet' }, `${count(all.length, 'entry', 'entries')}${isWhole ? '' : `, the newest of at most ${historyLimit.toLocaleString('en')} revisions`}`), split)
  filter()
  const wanted = all.find(item => item.place === query.get('entry'))
  if (wanted) open(wanted)
}

// ---- Account ------------------------------------------------------------------------------------

async function account(main, { reload, go }, user) {
  const path = userPath(user.id)
  const change = async (body, done) => {
    await request(path, { method: 'PATCH', body, fields: { 'Idempotency-Key': newKey() } })
    say(done)
    reload()
  }
  const row = (name, text, ...buttons) => el('section', { class: 'choice' }, el('div', {}, el('h2', {}, name), el('p', {}, text)), el('div', { class: 'buttons' }, buttons))
  const disabling = { disabled: !user.disabled }
  const disable = () => ask({
    title: user.disabled ? 'Enable this user?' : 'Disable this user?', confirm: user.disabled ? 'Enable' : 'Disable', danger: !user.disabled,
    content: [el('p', {}, user.disabled ? 'The user can log in again.' : 'All sessions end at once, and the user cannot log in. The data stays.')],
    more: copyCurl(path, { method: 'PATCH', body: disabling }),
    act: () => change(disabling, user.disabled ? 'The user is enabled' : 'The user is disabled')
  })
  const email = () => {
    const input = el('input', { type: 'email', required: true, autocomplete: 'off', value: user.email ?? '' })
    ask({
      title: 'Change the e-mail address', confirm: 'Change', content: [field('New e-mail address', input)],
      more: copyCurl(() => [path, { method: 'PATCH', body: { email: input.value } }]),
      act: () => change({ email: input.value }, 'The address has changed')
    })
  }
  const password = () => {
    const input = el('input', { type: 'password', required: true, autocomplete: 'new-password' })
    ask({
      title: 'Reset the password', confirm: 'Reset',
      content: [el('input', { type: 'text', autocomplete: 'username', value: user.email ?? '', hidden: true }),
        el('p', {}, 'All sessions end. Give the user the new password over a safe channel.'), field('New password', input)],
      more: copyCurl(path, { method: 'PATCH', body: { password: 'NEW PASSWORD' } }),
      act: () => change({ password: input.value }, 'The password has changed')
    })
  }
  const erase = () => {
    const input = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', required: true })
    ask({
      title: 'Erase this user?', confirm: 'Erase for ever', danger: true,
      content: [el('p', {}, 'The account, the state, the history and the sessions of ', el('strong', {}, el('bdi', {}, plain(nameOf(user)))), ' are deleted from the store. Only a backup can bring them back.'),
        field(user.email ? 'Type the e-mail address to confirm' : 'Type the name to confirm', input)],
      more: copyCurl(path, { method: 'DELETE' }),
      act: async () => {
        if (input.value !== nameOf(user)) throw new Refusal(-1, { title: 'This is not the address of the user', detail: 'Nothing was erased.' })
        await request(path, { method: 'DELETE', fields: { 'Idempotency-Key': newKey() } })
        sessionStorage.removeItem('lockstep-inspector-user')
        say('The user is erased')
        go('#/users')
      }
    })
  }
  const exported = `${path}/export`
  main.append(el('div', { class: 'choices' },
    row(user.disabled ? 'Enable' : 'Disable', user.disabled ? 'The user cannot log in at present.' : 'End all sessions, and refuse to log the user in. The data stays.', button(user.disabled ? 'Enable…' : 'Disable…', disable)),
    row('E-mail address', 'The user logs in with it.', button('Change…', email)),
    row('Password', 'Set a new one if the user has forgotten theirs.', button('Reset…', password)),
    row('Export', 'All that the server stores about the user, as one JSON document.', copyCurl(exported)),
    row('Erase', 'Delete the user and all of their data.', button('Erase…', erase, { class: 'danger' }))))
}

