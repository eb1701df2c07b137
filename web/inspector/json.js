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
  if (text.length <= longText) return el('bdi', { class: 'string', dir: 'ltr' }, text)
  const shown = el('bdi', { class: 'string', dir: 'ltr' }, `${text.slice(0, longText)}…`)
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

/** The difference of two contents of a collection, as a list of changes. */
export function differenceOf(before, after) {
  const change = difference(before, after)
  const rows = Array.isArray(after) ? listRows(before, change) : mapRows(before, after, change)
  if (!rows.length) return empty('No difference', 'Both states are the same.')
  const list = el('ul')
  let shown = 0
  const more = () => {
    list.append(...rows.slice(shown, shown + lines).map(row => row()))
    shown = Math.min(rows.length, shown + lines)
    rest.hidden = shown === rows.length
  }
  const rest = button('Show more', more, { class: 'minor' })
  more()
  return el('div', { class: 'difference' }, el('p', { class: 'quiet' }, count(rows.length, 'change')), list, rest)
}

/** A change of an element. Each pair has the value before and after, and perhaps the name of a member. */
const row = (kind, name, ...pairs) => () => el('li', { class: kind },
  el('p', {}, el('strong', {}, kind), ' ', el('bdi', {}, plain(name))),
  pairs.map(({ member, old, now }) => el('div', { class: 'pair' },
    member !== undefined && el('p', { class: 'member' }, plain(member)), side('old', 'before', old), side('new', 'after', now))))

function side(kind, label, value) {
  if (value === undefined) return undefined
  const sign = el('span', { class: 'sign' }, el('span', { 'aria-hidden': 'true' }, kind === 'old' ? '−' : '+'), el('span', { class: 'unseen' }, `${label}: `))
  return el('div', { class: `side-${kind}` }, sign, typeof value === 'function' ? value() : tree(value, 2))
}

function listRows(before, change) {
  const { deletions, insertions, modifications, moves } = change
  return [
    ...deletions.map(({ index, id }) => row('removed', id, { old: before[index] })),
    ...insertions.map(({ index, item }) => row('added', `${item.id} at ${index}`, { now: item })),
    ...modifications.map(({ index, item }) => row('changed', item.id, ...changedMembers(before[index], item))),
    ...moves.map(({ from, to, id }) => row('moved', id, { old: () => `index ${from}`, now: () => `index ${to}` }))
  ]
}

/** The members that differ. */
function changedMembers(before, after) {
  const { set, removed } = difference(before, after)
  const [old, now] = [members(before), members(after)]
  return [...Object.keys(set), ...removed].map(member => ({ member, old: old.get(member), now: now.get(member) }))
}

function mapRows(before, after, change) {
  const [old, now] = [members(before), members(after)]
  return [
    ...change.removed.map(name => row('removed', name, { old: old.get(name) })),
    ...Object.keys(change.set).map(name => row(old.has(name) ? 'changed' : 'added', name, { old: old.get(name), now: now.get(name) }))
  ]
}
