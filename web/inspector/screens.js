// Screens: the open screens with their states.
import { List, ago, button, copyCurl, count, el, empty, facts, failure, notice, plain, timeElement } from './elements.js'
import { userElement } from './journal.js'
import { tree } from './json.js'
import { get, pause, request } from './server.js'

export const title = 'Screens'

export async function show(main, { parts: [, chosen], setPath, signal, every, register }) {
  const place = el('div')
  const summary = el('p', { class: 'under quiet' })
  const split = el('div', { class: 'split' })
  let watched
  const list = new List({
    label: 'Open screens, oldest first', kind: 'screens',
    columns: [
      { name: 'Screen', class: 'name', show: screen => plain(screen.name) },
      {
        name: 'User', class: 'user',
        show: screen => screen.user ? userElement(screen.user) : el('span', { class: 'quiet' }, 'not logged in')
      },
      { name: 'Last used', class: 'seen', show: screen => ago(screen.lastUsedAt) },
      { name: 'Effects', class: 'effects number', show: screen => screen.effects ? el('span', { class: 'badge' }, `${screen.effects} running`) : '0' },
      { name: 'Failures', class: 'failures number', show: screen => screen.failures ? el('span', { class: 'badge bad' }, screen.failures) : '0' },
      { name: 'Opened', class: 'opened', show: screen => timeElement(screen.openedAt) }
    ],
    open: screen => open(screen.id, true), move: screen => watched && open(screen.id)
  })
  split.append(el('div', { class: 'listed' }, list.element, place))
  main.append(el('div', { class: 'bar' }, el('p', {}, 'Screens that are open on the server now.'), el('div', { class: 'end' }, copyCurl('/v1/admin/screens?limit=1000'))), summary, split)

  function close() {
    watched?.abort()
    watched = undefined
    split.classList.remove('open')
    split.querySelector('.details')?.remove()
    setPath('#/screens')
    list.element.focus()
  }
  register({ escape: () => watched && close() })

  async function open(id, isFocused) {
    watched?.abort()
    const own = watched = new AbortController()
    signal.addEventListener('abort', () => own.abort())
    setPath(`#/screens/${encodeURIComponent(id)}`)
    const path = `/v1/admin/screens/${encodeURIComponent(id)}`
    const about = el('div')
    const panel = el('aside', { class: 'details', 'aria-label': 'Screen', tabindex: -1, onkeydown: event => event.key === 'Escape' && close() },
      el('header', {}, el('h2', {}, plain(id)), button('Close', close, { class: 'minor' })), el('div', { class: 'buttons' }, copyCurl(path)), about)
    split.querySelector('.details')?.remove()
    split.append(panel)
    split.classList.add('open')
    if (isFocused) panel.focus()
    let tag
    while (!own.signal.aborted) {
      try {
        const fields = tag ? { 'If-None-Match': tag } : {}
        const { status, data, fields: response } = await request(`${path}${tag ? '?wait=20' : ''}`, { fields, signal: own.signal })
        if (status === 304) continue
        tag = response.get('ETag')
        panel.querySelector('h2').textContent = plain(data.name)
        about.replaceChildren(
          facts([
            ['User', data.user ? userElement(data.user, true) : 'not logged in'], ['Opened', timeElement(data.openedAt)], ['Last used', ago(data.lastUsedAt)],
            ['Watched', data.watched ? 'by a waiting client' : 'no'], ['Effects running', String(data.effects)], ['Failures', String(data.failures)], ['Id', el('code', {}, plain(data.id))]
          ]),
          data.lastFailure ? notice('error', `The last failure, of ${plain(data.lastFailure.origin)}`, data.lastFailure.message) : '',
          el('h3', {}, 'State'), tree(data.state, 3))
      } catch (error) {
        if (own.signal.aborted) return
        if (error.status === 404) return about.replaceChildren(empty('This screen has closed'))
        about.replaceChildren(failure(error))
        if (error.status === 401 || error.status === 403) return
        await pause((error.retryAfter ?? 5) * 1_000, own.signal)
      }
    }
  }

  let last
  const refresh = every(2_000, async () => {
    const { items } = await get('/v1/admin/screens?limit=1000', { signal })
    const text = JSON.stringify(items)
    if (text === last) return list.refresh(() => true)
    last = text
    list.element.hidden = !items.length
    list.update(items)
    summary.textContent = items.length ? count(items.length, 'screen') : ''
    place.replaceChildren(items.length ? '' : empty('No screen is open', 'A screen appears here when a client opens one.'))
  })
  if (chosen) open(chosen)
  await refresh
}
