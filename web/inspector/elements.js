// Elements of all pages. Text from the server only ever becomes text.
import { Refusal, curl } from './server.js'

/** Makes an element. Members that begin with `on` are listeners, `value` and the like properties. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  set(element, attributes)
  element.append(...children.flat().filter(child => child !== undefined && child !== null && child !== false))
  return element
}

const properties = new Set(['value', 'checked', 'disabled', 'selected', 'indeterminate'])

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (properties.has(name)) element[name] = value
    else if (value === undefined || value === null || value === false) element.removeAttribute(name)
    else element.setAttribute(name, value === true ? '' : value)
  }
}

// ---- Text ---------------------------------------------------------------------------------------

const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g

/** The text with an escape for each character that cannot be seen or that turns the text around it. */
export const plain = text => String(text).replace(unseen, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Text of users: very long text is cut off. Its direction is its own, unless it has escapes, which would be turned. */
export function userText(text) {
  const shown = plain(text.length > 600 ? `${text.slice(0, 600)}…` : text)
  return el('bdi', { dir: shown === text ? 'auto' : 'ltr' }, shown)
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`

export function bytes(size) {
  if (size < 1_024) return count(size, 'byte')
  for (const [unit, factor] of [['KiB', 2 ** 10], ['MiB', 2 ** 20], ['GiB', 2 ** 30]]) {
    if (size < factor * 1_024 || unit === 'GiB') return `${(size / factor).toFixed(size / factor < 10 ? 1 : 0)} ${unit}`
  }
}

const two = number => String(number).padStart(2, '0')

/** A time in the zone of this computer: the day and the clock, or nothing if it is no time. */
function clock(text, digits) {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) return
  const part = digits ? `.${String(date.getMilliseconds()).padStart(3, '0')}` : ''
  return {
    day: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
    time: `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}${part}`,
    isToday: date.toDateString() === new Date().toDateString()
  }
}

/** A time in a list: with the day unless it is today's. */
export function time(text) {
  const found = clock(text, true)
  if (!found) return plain(text)
  return found.isToday ? found.time : [el('span', { class: 'day' }, `${found.day} `), found.time.slice(0, 8)]
}

const full = text => {
  const found = clock(text)
  return found ? `${found.day} ${found.time}` : plain(text)
}

export const timeElement = text => text
  ? el('time', { datetime: text, title: text }, full(text)) : el('span', { class: 'quiet' }, '–')

export function ago(text) {
  const seconds = Math.max(0, (Date.now() - new Date(text)) / 1_000)
  for (const [limit, size, unit] of [[90, 1, 's'], [5_400, 60, 'min'], [129_600, 3_600, 'h'], [Infinity, 86_400, 'days']]) {
    if (seconds < limit) return `${Math.round(seconds / size)} ${unit} ago`
  }
}

/** The name of a user: the address, or the subject of the identity. An anonymous user has neither. */
export const nameOf = user => user.email ?? user.identity?.subject ?? `anonymous ${shortId(user.id)}`

/** The start of an id is enough to recognise it. */
export const shortId = id => `${id.slice(0, 8)}…${id.slice(-4)}`

// ---- Small parts --------------------------------------------------------------------------------

export const button = (text, onclick, attributes = {}) => el('button', { type: 'button', onclick, ...attributes }, text)

export const field = (label, input, hint) => el('label', { class: 'field' }, el('span', {}, label), input, hint && el('small', {}, hint))

/** A message. `kind` is `error`, `good` or `note`. */
export function notice(kind, title, text, ...more) {
  return el('div', { class: `notice ${kind}`, role: kind === 'error' ? 'alert' : 'status' },
    el('strong', {}, title), text && el('p', {}, plain(text)), more)
}

/** The message for an error. */
export function failure(error, again) {
  const isRefusal = error instanceof Refusal
  if (!isRefusal) console.error(error)
  return notice('error', isRefusal ? error.title : 'The page failed', isRefusal ? error.text : String(error),
    again && button('Try again', again))
}

export const empty = (title, text) => el('div', { class: 'empty' }, el('strong', {}, title), text && el('p', {}, text))

/** A list of names and values. */
export const facts = pairs => el('dl', { class: 'facts' },
  pairs.filter(Boolean).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))))

const status = el('p', { role: 'status', class: 'said' })

/** Shows a short message at the edge of the page, also to screen readers. */
export function say(text) {
  if (!status.isConnected) document.body.append(status)
  status.textContent = text
  clearTimeout(say.timer)
  say.timer = setTimeout(() => { status.textContent = '' }, 4_000)
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    say('Copied')
  } catch {
    // Without HTTPS, the page may not write to the clipboard.
    const area = el('textarea', { readonly: true, rows: 12, class: 'code', 'aria-label': 'Text to copy', value: text })
    ask({ title: 'Copy this text', content: [area] })
    area.select()
  }
}

/** A button that copies a request as a command. `make` returns the path and the options. */
export const copyCurl = (...make) =>
  button('Copy as curl', () => copy(curl(...(typeof make[0] === 'function' ? make[0]() : make))), { class: 'minor' })

/**
 * Opens a dialog. Escape closes it. `act` runs when the form is sent; if it throws, the dialog shows
 * the error and stays open.
 */
export function ask({ title, content, confirm, danger, act, more }) {
  const errors = el('div')
  const send = confirm && el('button', { class: danger ? 'danger' : 'main' }, confirm)
  const form = el('form', {
    onsubmit: async event => {
      event.preventDefault()
      send.disabled = true
      try {
        await act()
        box.close()
      } catch (error) {
        errors.replaceChildren(failure(error))
      }
      send.disabled = false
    }
  }, el('h2', { id: 'dialog-title' }, title), content, errors,
  el('div', { class: 'buttons' }, more, button(confirm ? 'Cancel' : 'Close', () => box.close()), send))
  const box = el('dialog', { 'aria-labelledby': 'dialog-title', onclose: () => box.remove() }, form)
  document.body.append(box)
  box.showModal()
  return box
}

/** Tabs. Each has a name, a title, and `show`, which returns what it shows, or a promise of that. */
let tabLists = 0
export function tabs(label, all, selected, change) {
  const id = `tabs${++tabLists}`
  const panel = el('div', { role: 'tabpanel', class: 'panel', id: `${id}-panel`, tabindex: 0 })
  let shown = 0
  const choose = async (name, isFocused) => {
    const turn = ++shown
    for (const item of items) {
      const isChosen = item.dataset.name === name
      set(item, { 'aria-selected': String(isChosen), tabindex: isChosen ? 0 : -1 })
      if (isChosen && isFocused) item.focus()
      if (isChosen) panel.setAttribute('aria-labelledby', item.id)
    }
    const waiting = setTimeout(() => turn === shown && panel.replaceChildren(el('p', { class: 'quiet' }, 'Loading…')), 150)
    let content
    try { content = await all.find(tab => tab.name === name).show() } catch (error) { content = failure(error) }
    clearTimeout(waiting)
    if (turn === shown) panel.replaceChildren(...[content].flat())
  }
  const items = all.map(tab => el('button', {
    type: 'button', role: 'tab', 'data-name': tab.name, id: `${id}-${tab.name}`, 'aria-controls': `${id}-panel`,
    onclick: () => { change?.(tab.name); choose(tab.name) }
  }, tab.title))
  const bar = el('div', {
    role: 'tablist', 'aria-label': label, class: 'tabs',
    onkeydown: event => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -items.length, End: items.length }[event.key]
      if (!step) return
      event.preventDefault()
      const index = items.indexOf(document.activeElement)
      const target = Math.abs(step) > 1 ? (step < 0 ? 0 : items.length - 1) : (index + step + items.length) % items.length
      change?.(items[target].dataset.name)
      choose(items[target].dataset.name, true)
    }
  }, items)
  const first = all.some(tab => tab.name === selected) ? selected : all[0].name
  choose(first)
  return el('div', { class: 'tabbed' }, bar, panel)
}

// ---- Long lists ---------------------------------------------------------------------------------

let lists = 0

/**
 * A list of which only the rows in view are elements. All rows have the same height, `--row` in the
 * style sheet.
 *
 * A column has a name, a class, and `show`, which returns the text or the element of an item.
 * `items` has a `length` and a method `at`. `open` is called for Enter and for a click, `move` when
 * an arrow key selects another row.
 */
export class List {
  #rows = new Map()
  /** Rows of items that may still be in view after an update. A row stays, so that a click on it is not lost. */
  #kept = new Map()
  #height = 30
  #selected = -1
  #pressed

  constructor({ label, columns, kind, open, move }) {
    Object.assign(this, { columns, open, move, items: [], id: `list${++lists}` })
    this.body = el('div', { role: 'rowgroup', class: 'rows' })
    this.element = el('div', {
      role: 'grid', tabindex: 0, class: `list ${kind}`, 'aria-label': label, 'aria-colcount': columns.length,
      onscroll: () => this.#draw(), onkeydown: event => this.#press(event), onclick: event => this.#click(event),
      onpointerdown: event => { this.#pressed = this.#itemOf(event.target) }
    }, el('div', { role: 'rowgroup', class: 'head' },
      el('div', { role: 'row', class: 'row', 'aria-rowindex': 1 },
        columns.map(column => el('div', { role: 'columnheader', class: column.class }, column.name)))),
    this.body)
    this.watcher = new ResizeObserver(() => this.update())
    this.watcher.observe(this.element)
  }

  get selected() { return this.#selected < 0 ? undefined : this.items.at(this.#selected) }

  /** Shows other items. `added` items have come before the first one. */
  update(items = this.items, added = 0) {
    this.items = items
    this.#height = parseFloat(getComputedStyle(this.element).getPropertyValue('--row')) || 30
    this.body.style.height = `${items.length * this.#height}px`
    this.element.setAttribute('aria-rowcount', items.length + 1)
    if (this.#selected >= 0) this.#selected += added
    if (this.#selected >= items.length) this.#selected = -1
    if (added && this.element.scrollTop > 0) this.element.scrollTop += added * this.#height
    for (const row of this.#rows.values()) this.#kept.set(row.item, row)
    this.#rows.clear()
    this.#draw()
    for (const row of this.#kept.values()) row.remove()
    this.#kept.clear()
  }

  /** Draws the rows in view for which `isChanged` is true. */
  refresh(isChanged) {
    for (const [index, row] of this.#rows) {
      if (!isChanged(this.items.at(index))) continue
      row.remove()
      this.#rows.delete(index)
    }
    this.#draw()
  }

  select(index, isOpened) {
    if (!this.items.length) return
    const before = this.#rows.get(this.#selected)
    if (before) set(before, { 'aria-selected': 'false' })
    this.#selected = Math.max(0, Math.min(this.items.length - 1, index))
    const [top, view] = [this.#selected * this.#height, this.#view]
    if (top < view.top) this.element.scrollTop = top
    else if (top + this.#height > view.top + view.height) this.element.scrollTop = top + this.#height - view.height
    this.#draw()
    const row = this.#rows.get(this.#selected)
    if (row) set(row, { 'aria-selected': 'true' })
    ;(isOpened ? this.open : this.move)?.(this.selected, this.#selected)
  }

  get #view() {
    const head = this.body.offsetTop
    return { top: this.element.scrollTop, height: this.element.clientHeight - head }
  }

  #draw() {
    const { top, height } = this.#view
    const first = Math.max(0, Math.floor(top / this.#height) - 6)
    const end = Math.min(this.items.length, Math.ceil((top + Math.max(0, height)) / this.#height) + 6)
    for (const [index, row] of this.#rows) {
      if (index >= first && index < end) continue
      row.remove()
      this.#rows.delete(index)
    }
    // From the last row to the first, because each is put before the next one.
    for (let index = end - 1; index >= first; index--) if (!this.#rows.has(index)) this.#add(index)
    const isInView = this.#rows.has(this.#selected)
    set(this.element, { 'aria-activedescendant': isInView ? `${this.id}-${this.#selected}` : undefined })
  }

  #add(index) {
    const item = this.items.at(index)
    const old = this.#kept.get(item)
    this.#kept.delete(item)
    const row = old ?? el('div', { role: 'row', class: 'row' },
      this.columns.map(column => el('div', { role: 'gridcell', class: column.class }, column.show(item, index))))
    set(row, {
      id: `${this.id}-${index}`, 'aria-rowindex': index + 2, 'data-index': index,
      'aria-selected': String(index === this.#selected)
    })
    row.item = item
    row.style.transform = `translateY(${index * this.#height}px)`
    this.#rows.set(index, row)
    if (old) return
    // In the order of the list, for screen readers.
    const next = this.#rows.get(index + 1)
    if (next) next.before(row)
    else this.body.append(row)
  }

  #itemOf(target) { return target.closest('[data-index]')?.item }

  #press(event) {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor(this.#view.height / this.#height) - 1)
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }
    if (event.key in steps) this.select(this.#selected < 0 && event.key !== 'End' ? 0 : this.#selected + steps[event.key])
    else if (event.key === 'Enter' && this.#selected >= 0) this.select(this.#selected, true)
    else return
    event.preventDefault()
  }

  /** Opens the item that was pressed, even if new items have moved it meanwhile. */
  #click(event) {
    if (event.target.closest('a, button')) return
    const item = this.#pressed ?? this.#itemOf(event.target)
    this.#pressed = undefined
    const [found] = [...this.#rows].filter(([, row]) => row.item === item)
    if (item !== undefined && found) this.select(found[0], true)
  }
}
