// Time travel: a user's state at each kept revision.
import { button, copy, copyCurl, count, el, empty, facts, failure, field, nameOf, plain, tabs, timeElement, userText } from './elements.js'
import { actionText, collectionOf, deviceText, history, historyLimit, mutationText, stateAt, testScript, userElement } from './journal.js'
import { differenceOf, tree } from './json.js'
import { base, collectionPath, get, pause, userPath } from './server.js'
import { choose } from './users.js'

const kept = 60

export const title = 'Time travel'

export async function show(main, page) {
  const { parts: [, id], query, setQuery, signal, register } = page
  if (!id) return choose(main, page, 'Choose the user whose past you want to see.', 'time')
  sessionStorage.setItem('lockstep-inspector-user', id)
  const [user, past] = await Promise.all([get(userPath(id), { signal }), history(id, undefined, { signal })])
  page.name(nameOf(user))
  const { revisions, isWhole, store } = past
  if (!revisions.length) return main.append(empty('No history', 'This user has done nothing yet, or the history is pruned.'))
  // The empty state before the first revision can be shown too.
  const points = isWhole ? [{ number: 0, cursor: `${store}.0.0`, entries: [] }, ...revisions] : revisions
  const names = [...new Set(revisions.flatMap(({ entries }) => entries.map(collectionOf)))].sort()
  const indexOf = number => points.findLastIndex(point => point.number <= number)
  const asked = Number(query.get('revision') || Infinity)
  let index = Math.max(0, indexOf(asked))
  let isFollowing = !query.get('collection')

  const last = points.length - 1
  const slider = el('input', { type: 'range', min: 0, max: last, step: 1, value: index, 'aria-label': 'Revision', oninput: () => move(Number(slider.value)) })
  const place = el('output', { class: 'place' })
  const collection = el('select', { onchange: () => { isFollowing = false; setQuery({ collection: collection.value }); draw() } }, names.map(name => el('option', { value: name }, plain(name))))
  collection.value = names.includes(query.get('collection')) ? query.get('collection') : names.includes('favorites') ? 'favorites' : names[0]
  const compared = el('input', {
    type: 'number', min: points[0].number, max: points[last].number, value: query.get('compare') ?? '', placeholder: 'the one before',
    oninput: () => { setQuery({ compare: compared.value }); draw() }
  })
  const speed = el('select', {}, [['0.5', '½ a second'], ['1', '1 a second'], ['2', '2 a second'], ['5', '5 a second'], ['10', '10 a second']].map(([value, text]) => el('option', { value }, text)))
  speed.value = '2'

  // ---- Moving
  let player
  const play = async () => {
    if (player) return stop()
    const own = player = new AbortController()
    set()
    if (index === last) await move(0)
    while (!own.signal.aborted && !signal.aborted && index < last) {
      await pause(1_000 / Number(speed.value), own.signal)
      if (!own.signal.aborted) await move(index + 1, true)
    }
    stop()
  }
  const stop = () => { player?.abort(); player = undefined; set() }
  const set = () => { playing.textContent = player ? 'Pause' : 'Play' }
  const playing = button('Play', play, { class: 'main' })
  const step = to => () => { stop(); move(to()) }
  function move(to, isPlayed) {
    if (player && !isPlayed) stop()
    index = Math.max(0, Math.min(last, to))
    slider.value = index
    setQuery({ revision: String(points[index].number) })
    return draw()
  }

  // ---- States that were read
  const states = new Map()
  function stateOf(point, name) {
    const key = `${point.number} ${name}`
    if (!states.has(key)) {
      if (states.size >= kept) states.delete(states.keys().next().value)
      const state = stateAt(id, name, point.cursor, { signal })
      state.catch(() => states.delete(key))
      states.set(key, state)
    }
    return states.get(key)
  }

  // ---- What is shown
  const entries = el('div', { class: 'entries' })
  const shown = el('div')
  let view = query.get('view') ?? 'difference'
  let turn = 0
  async function draw() {
    const own = ++turn
    const point = points[index]
    const wanted = compared.value === '' ? index - 1 : indexOf(Number(compared.value))
    const other = points[wanted]
    if (isFollowing && point.entries.length) collection.value = collectionOf(point.entries[0])
    const name = collection.value
    place.replaceChildren('Revision ', el('strong', {}, point.number.toLocaleString('en')), ` of ${points[last].number.toLocaleString('en')}`, point.at ? ' · ' : ' · before the first action', point.at ? timeElement(point.at) : '')
    set_(slider, point)
    entries.replaceChildren(...(point.entries.length ? point.entries.slice(0, 20).map(entry => el('p', {},
      el('span', { class: 'badge' }, plain(collectionOf(entry))), ' ', el('strong', {}, userText(actionText(entry))), ' → ', mutationText(entry), ' ',
      el('span', { class: 'quiet' }, userText(deviceText(entry))))) : [el('p', { class: 'quiet' }, 'The empty state')]),
    point.entries.length > 20 ? el('p', { class: 'quiet' }, `and ${count(point.entries.length - 20, 'more action')}`) : '')
    let content
    try {
      const [now, before] = await Promise.all([
        view === 'action' ? undefined : stateOf(point, name), view === 'difference' && other ? stateOf(other, name) : undefined
      ])
      if (view === 'state') content = tree(now, 2)
      else if (view === 'action') content = tree(point.entries.map(({ module, action, mutations }) => ({ module, action, mutations })), 4)
      else if (other) content = [el('p', { class: 'quiet' }, `From revision ${other.number.toLocaleString('en')} to ${point.number.toLocaleString('en')}`), differenceOf(before, now)]
      else content = empty('No revision before', 'The history that is kept begins here.')
    } catch (error) {
      if (signal.aborted) return
      content = failure(error, draw)
    }
    if (own === turn) shown.replaceChildren(...[content].flat())
  }
  const set_ = (input, point) => input.setAttribute('aria-valuetext', `Revision ${point.number}${point.entries[0] ? `, ${plain(actionText(point.entries[0]))}` : ''}`)

  const script = () => {
    const to = Math.max(1, index + (isWhole ? 0 : 1))
    copy(testScript(revisions.slice(0, to), { isWhole, origin: base.origin }))
  }
  register({
    keys: { ' ': event => event.target.closest('input, button, select, summary, a') ? false : (play(), true) }
  })
  main.append(
    facts([['User', [userElement(id, true), ' ', el('a', { class: 'button minor', href: '#/time' }, 'Another user')]], ['Kept', `${count(revisions.length, 'revision')}${isWhole ? '' : `, from ${points[0].number.toLocaleString('en')}${revisions.length >= historyLimit ? ' (older ones are not loaded)' : ''}`}`]]),
    el('section', { class: 'travel', 'aria-label': 'Place in the history' },
      el('div', { class: 'line' }, place),
      slider,
      el('div', { class: 'line' },
        el('div', { class: 'buttons' }, button('First', step(() => 0)), button('Back', step(() => index - 1)), playing, button('Forward', step(() => index + 1)), button('Last', step(() => last))),
        field('Speed', speed), field('Collection', collection), field('Compare with revision', compared),
        el('div', { class: 'end' }, copyCurl(() => [collectionPath(id, collection.value, points[index].cursor)]), button('Copy as test', script, { class: 'minor' })))),
    entries,
    tabs('Shown', [['difference', 'Difference'], ['state', 'State'], ['action', 'Action and mutations']].map(([name, title]) => ({
      name, title, show: async () => { view = name; await draw(); return shown }
    })), view, name => setQuery({ view: name })))
  signal.addEventListener('abort', stop)
}
