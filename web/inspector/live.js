// Live: the actions of all users as they commit.
import { List, button, count, el, empty, failure, field, nameOf, say, time, userText } from './elements.js'
import { actionText, collectionOf, deviceText, emailOf, entryPanel, learn, mutationText, userElement } from './journal.js'
import { follow, get, parse, session } from './server.js'

const most = 100_000
const mostText = 64 * 2 ** 20
const pausedName = 'lockstep-inspector-paused'

/** An entry of the stream. It is read only when it is shown. */
class Entry {
  #value
  constructor(text, place) { Object.assign(this, { text, place }) }
  get value() { return this.#value ??= parse(this.text) }
}

/** Entries up to a bound. They stay while other pages are shown. */
class Log {
  entries = []
  size = 0
  dropped = 0

  add(entries) {
    for (const entry of entries) this.size += entry.text.length
    this.entries = this.entries.concat(entries)
    let gone = Math.max(0, this.entries.length - most)
    for (let size = this.size; size > mostText && gone < this.entries.length; gone++) size -= this.entries[gone].text.length
    if (!gone) return
    for (const entry of this.entries.splice(0, gone)) this.size -= entry.text.length
    this.dropped += gone
  }
}

let log = new Log()
let logKey
let logToken

/** Forgets all entries, because the next token may not permit to see them. */
export const forget = () => {
  log = new Log()
  logKey = undefined
}

const entryPath = place => `/v1/admin/journal?from=${encodeURIComponent(place)}&limit=1`

export const title = 'Live'

export async function show(main, { query, setQuery, signal, register }) {
  const filter = { user: query.get('user') ?? '', collection: query.get('collection') ?? '' }
  let words = query.get('text') ?? ''
  let isPaused = sessionStorage.getItem(pausedName) === 'yes'
  let stream
  let fresh = []

  // ---- The controls
  const state = el('span', { class: 'state' })
  const numbers = el('span', { class: 'quiet' })
  const errors = el('div')
  const pauseButton = button('', () => setPaused(!isPaused))
  const user = el('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', value: filter.user, placeholder: 'e-mail or id' })
  const known = el('datalist', { id: 'known-collections' })
  const collection = el('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', value: filter.collection, list: 'known-collections', placeholder: 'favorites' })
  const text = el('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', value: words, 'data-search': true, placeholder: 'any text' })
  if (filter.user) emailOf(filter.user, email => { user.value = email })
  const setUser = async () => {
    const wanted = user.value.trim()
    try {
      const id = !wanted || /^[0-9a-f-]{36}$/i.test(wanted) ? wanted : await userNamed(wanted, signal)
      if (id === undefined) return say(`No address, or more than one, begins with ${wanted}. Type the whole address.`)
      if (id !== filter.user) setFilter({ user: id })
    } catch (error) { errors.replaceChildren(failure(error)) }
  }
  const setFilter = changes => {
    Object.assign(filter, changes)
    setQuery({ ...changes, entry: '' })
    restart()
  }
  user.addEventListener('change', setUser)
  collection.addEventListener('change', () => setFilter({ collection: collection.value.trim() }))
  let typing
  text.addEventListener('input', () => {
    clearTimeout(typing)
    typing = setTimeout(() => { words = text.value; setQuery({ text: words }); refill() }, 150)
  })

  // ---- The list, newest first
  let shown = log.entries
  const items = { get length() { return shown.length }, at: index => shown[shown.length - 1 - index] }
  const list = new List({
    label: 'Actions, newest first', kind: 'live',
    columns: [
      { name: 'Time', class: 'time', show: ({ value }) => time(value.at) },
      { name: 'User', class: 'user', show: ({ value }) => userElement(value.user) },
      { name: 'Device', class: 'device', show: ({ value }) => userText(deviceText(value)) },
      { name: 'Collection', class: 'collection', show: ({ value }) => userText(collectionOf(value)) },
      { name: 'Action', class: 'action', show: ({ value }) => userText(actionText(value)) },
      { name: 'Mutations', class: 'mutations', show: ({ value }) => [el('span', { 'aria-hidden': 'true', class: 'arrow' }, '→ '), mutationText(value)] }
    ],
    open: entry => openEntry(entry, true),
    move: entry => split.classList.contains('open') && openEntry(entry)
  })
  const none = el('div')
  const fresher = button('', () => { list.element.scrollTop = 0; fresher.hidden = true }, { class: 'fresher', hidden: true })
  list.element.addEventListener('scroll', () => { if (list.element.scrollTop === 0) fresher.hidden = true })
  const listed = el('div', { class: 'listed' }, fresher, list.element, none)
  const split = el('div', { class: 'split' }, listed)

  const matches = () => {
    const wanted = words.toLowerCase()
    return wanted ? entry => entry.text.toLowerCase().includes(wanted) : undefined
  }
  function refill() {
    const test = matches()
    shown = test ? log.entries.filter(test) : log.entries
    list.update(items)
    count_()
  }
  function count_() {
    const total = log.entries.length
    numbers.textContent = [
      shown.length === total ? count(total, 'entry', 'entries') : `${shown.length.toLocaleString('en')} of ${count(total, 'entry', 'entries')}`,
      log.dropped ? `${log.dropped.toLocaleString('en')} older ones dropped` : ''
    ].filter(Boolean).join(', ')
    list.element.hidden = !shown.length
    none.replaceChildren(shown.length ? '' : !total && state.dataset.state === 'connecting' ? el('p', { class: 'quiet' }, 'Loading…') : empty(
      words && total ? 'No entry has this text' : filter.user || filter.collection ? 'No matching entry' : 'No entry yet',
      words && total ? 'The search looks at the entries on this page.' : 'Actions appear here as soon as they commit.'))
    known.replaceChildren(...[...new Set(log.entries.slice(-200).map(({ value }) => collectionOf(value)))].map(name => el('option', { value: name })))
  }
  /** Shows the entries that have arrived, at most a few times a second. */
  function flush() {
    flush.timer = 0
    const arrived = fresh
    fresh = []
    const before = log.dropped
    log.add(arrived)
    const test = matches()
    const added = test ? arrived.filter(test) : arrived
    shown = !test ? log.entries : log.dropped === before ? shown.concat(added) : log.entries.filter(test)
    const isAtTop = list.element.scrollTop === 0
    list.update(items, added.length)
    if (!isAtTop && added.length) {
      fresher.hidden = false
      fresher.textContent = 'New entries ↑'
    }
    count_()
  }

  // ---- The details
  let panel
  function openEntry(entry, isFocused) {
    setQuery({ entry: entry.place })
    showPanel(entry.value, entry.place, isFocused)
  }
  function showPanel(value, place, isFocused) {
    panel?.remove()
    panel = entryPanel({
      user: value.user, entry: value, source: entryPath(place), tab: query.get('tab'), signal,
      change: tab => { query.set('tab', tab); setQuery({ tab }) }, close: closePanel
    })
    split.append(panel)
    split.classList.add('open')
    if (isFocused) panel.focus()
  }
  function closePanel() {
    panel?.remove()
    split.classList.remove('open')
    setQuery({ entry: '' })
    list.element.focus()
  }
  register({ escape: () => split.classList.contains('open') && closePanel() })

  // ---- The stream
  function setState(name, seconds) {
    state.dataset.state = isPaused ? 'paused' : name
    state.textContent = isPaused ? 'Paused' : { connecting: 'Connecting', live: 'Live', waiting: `No connection, next attempt in ${seconds} s`, failed: 'Stopped' }[name]
    if (!log.entries.length) count_()
  }
  function setPaused(value) {
    isPaused = value
    sessionStorage.setItem(pausedName, value ? 'yes' : 'no')
    pauseButton.textContent = value ? 'Resume' : 'Pause'
    stream?.abort()
    if (value) setState('paused')
    else connect()
  }
  async function connect() {
    errors.replaceChildren()
    const own = stream = new AbortController()
    signal.addEventListener('abort', () => own.abort())
    try {
      setState('connecting')
      const last = log.entries.at(-1)?.place
      const path = new URLSearchParams({ limit: 1_000 })
      for (const [name, value] of Object.entries(filter)) if (value) path.set(name, value)
      if (last) path.set('since', last)
      else path.set('last', filter.user || filter.collection ? 20_000 : 1_000)
      await follow(`/v1/admin/journal?${path}`, {
        signal: own.signal, change: setState,
        take: (data, place, type) => {
          if (own.signal.aborted) return
          // The store is another one, or an older copy of it.
          if (type === 'reset') return restart()
          fresh.push(new Entry(data, place))
          flush.timer ||= setTimeout(flush, 100)
        }
      })
    } catch (error) {
      if (own.signal.aborted) return
      setState('failed')
      errors.replaceChildren(failure(error, connect))
    }
  }
  function restart() {
    stream?.abort()
    clearTimeout(flush.timer)
    flush.timer = 0
    fresh = []
    log = new Log()
    logKey = JSON.stringify(filter)
    logToken = session.token
    split.classList.remove('open')
    panel?.remove()
    refill()
    if (!isPaused) connect()
  }

  main.append(
    el('div', { class: 'bar' }, field('Search', text), field('User', user), field('Collection', collection), known,
      el('div', { class: 'end' }, state, pauseButton)),
    el('p', { class: 'under' }, numbers), errors, split)
  signal.addEventListener('abort', () => { clearTimeout(flush.timer); flush.timer = 0; log.add(fresh) })
  pauseButton.textContent = isPaused ? 'Resume' : 'Pause'
  if (logKey === JSON.stringify(filter) && logToken === session.token) {
    refill()
    if (isPaused) setState('paused')
    else connect()
  } else restart()
  if (isPaused) setState('paused')
  const place = query.get('entry')
  if (place) {
    try {
      const { entries: [value], reset } = await get(entryPath(place), { signal })
      if (value && !reset) showPanel(value, place)
      else say('This entry is no longer in the journal')
    } catch (error) { if (!signal.aborted) errors.replaceChildren(failure(error)) }
  }
}

/** The id of the user whose address is this one, or is the only one that begins with it. */
export async function userNamed(prefix, signal) {
  const { items } = await get(`/v1/admin/users?limit=2&prefix=${encodeURIComponent(prefix)}`, { signal })
  const found = items.find(({ email }) => email?.toLowerCase() === prefix.toLowerCase()) ?? (items.length === 1 ? items[0] : undefined)
  if (found) learn(found.id, nameOf(found))
  return found?.id
}

