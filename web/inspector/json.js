// JSON as a tree that folds, and the difference of two states.
import { difference } from '../lockstep.js'
import { button, count, el, empty, plain } from './elements.js'
import { isRaw, members } from './server.js'

const longText = 400
const chunk = 100

/** A value as text on one line, cut off after some characters. */
export function inline(value, length = 160) {
  const text = isRaw(value) ? value.rawJSON : JSON.stringify(value) ?? ''
  return plain(text.length > length ? `${text.slice(0, length)}…` : text)
}

/** A value as a tree. Objects and arrays up to this depth are open. */
export function tree(value, depth = 2) {
  return el('div', { class: 'json' }, node(undefined, value, depth))
}

const isFolded = value => value !== null && typeof value === 'object' && !isRaw(value)

function node(name, value, depth) {
  const label = name === undefined ? [] : [el('span', { class: 'key' }, plain(typeof name === 'number' ? name : JSON.stringify(name))), ': ']
  if (!isFolded(value)) return el('div', { class: 'leaf' }, label, scalar(value))
  const isArray = Array.isArray(value)
  const entries = isArray ? value.map((item, index) => [index, item]) : Object.entries(value)
  const [open, close] = isArray ? '[]' : '{}'
  if (!entries.length) return el('div', { class: 'leaf' }, label, open + close)
  const inner = el('div', { class: 'inner' })
  const size = isArray ? count(entries.length, 'element') : count(entries.length, 'member')
  const fill = () => {
    if (inner.childElementCount) return
    let shown = 0
    const more = () => {
      const part = entries.slice(shown, shown + chunk)
      shown += part.length
      inner.append(...part.map(([name, item]) => node(name, item, depth - 1)))
      const rest = entries.length - shown
      if (rest > 0) {
        const next = button(`Show ${Math.min(rest, chunk)} of ${rest.toLocaleString('en')} more`, () => { next.remove(); more() }, { class: 'minor' })
        inner.append(next)
      }
    }
    more()
  }
  const details = el('details', { open: depth > 0, ontoggle: () => details.open && fill() },
    el('summary', {}, label, open, el('span', { class: 'size' }, ` ${size} ${close}`)), inner, el('div', { class: 'close' }, close))
  if (depth > 0) fill()
  return details
}

function scalar(value) {
  if (typeof value !== 'string') return el('span', { class: value === null ? 'null' : typeof value === 'boolean' ? 'word' : 'number' }, inline(value))
  const text = plain(JSON.stringify(value))
  if (text.length <= longText) return el('bdi', { class: 'string' }, text)
  const shown = el('bdi', { class: 'string' }, `${text.slice(0, longText)}…`)
  const more = button(`Show all ${count(value.length, 'character')}`, () => { shown.textContent = text; more.remove() }, { class: 'minor' })
  return el('span', {}, shown, ' ', more)
}

// ---- States -------------------------------------------------------------------------------------

/** The content of a collection: an array of elements with ids, or an object. */
export function content(data) {
  if (Array.isArray(data?.items)) return data.items
  return 'values' in (data ?? {}) ? data.values : data
}

const lines = 200

/** The difference of two contents of a collection, as a table. */
export function differenceOf(before, after) {
  const change = difference(before, after)
  const rows = Array.isArray(after) ? listRows(before, change) : mapRows(before, after, change)
  if (!rows.length) return empty('No difference', 'Both states are the same.')
  const body = el('tbody')
  let shown = 0
  const more = () => {
    body.append(...rows.slice(shown, shown + lines).map(row => row()))
    shown = Math.min(rows.length, shown + lines)
    rest.hidden = shown === rows.length
  }
  const rest = button('Show more', more, { class: 'minor' })
  more()
  return el('div', { class: 'difference', tabindex: 0, role: 'region', 'aria-label': 'Difference' }, el('p', { class: 'quiet' }, count(rows.length, 'change')),
    el('table', {}, el('thead', {}, el('tr', {}, ['Change', 'Element', 'Before', 'After'].map(name => el('th', { scope: 'col' }, name)))), body), rest)
}

const line = (kind, name, before, after) => () => el('tr', { class: kind },
  el('td', {}, kind), el('th', { scope: 'row' }, el('bdi', {}, plain(name))),
  el('td', {}, before === undefined ? '' : typeof before === 'function' ? before() : tree(before, 1)),
  el('td', {}, after === undefined ? '' : typeof after === 'function' ? after() : tree(after, 1)))

function listRows(before, change) {
  const places = new Map()
  for (const { index, id } of change.deletions) places.set(`-${id}`, line('removed', id, before[index]))
  for (const { index, item } of change.insertions) places.set(`+${item.id}`, line('added', `${item.id} at ${index}`, undefined, item))
  for (const { index, item } of change.modifications) {
    const [old, now] = changedMembers(before[index], item)
    places.set(`~${item.id}`, line('changed', item.id, old, now))
  }
  for (const { from, to, id } of change.moves) {
    places.set(`>${id}`, line('moved', id, () => `index ${from}`, () => `index ${to}`))
  }
  return [...places.values()]
}

/** The members that differ, before and after. */
function changedMembers(before, after) {
  const change = difference(before, after)
  const names = [...Object.keys(change.set), ...change.removed]
  const pick = object => Object.fromEntries(names.filter(name => Object.hasOwn(object, name)).map(name => [name, object[name]]))
  return [pick(before), pick(after)]
}

function mapRows(before, after, change) {
  const [old, now] = [members(before), members(after)]
  return [
    ...change.removed.map(name => line('removed', name, old.get(name))),
    ...Object.keys(change.set).map(name => line(old.has(name) ? 'changed' : 'added', name, old.get(name), now.get(name)))
  ]
}
