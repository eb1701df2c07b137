// The inspector: signing in, the navigation, and the page that the address names.
import * as act from './act.js'
import { button, el, empty, failure, field, notice, plain, set } from './elements.js'
import * as health from './health.js'
import { forgetAddresses } from './journal.js'
import * as live from './live.js'
import * as screens from './screens.js'
import { base, get, pause, request, session } from './server.js'
import { collections, registered } from './settings.js'
import * as time from './time.js'
import * as user from './user.js'
import * as users from './users.js'

const pages = { live, users, time, act, screens, registered, collections, health }
const names = { live: 'Live', users: 'Users', time: 'Time travel', act: 'Act', screens: 'Screens', registered: 'Registered', collections: 'Collections', health: 'Health' }

let shown
let hasCollections = false

// ---- Signing in ---------------------------------------------------------------------------------

function signIn(reason) {
  shown?.abort()
  health.stopSampling()
  forgetAddresses()
  live.forget()
  for (const box of document.querySelectorAll('dialog')) box.remove()
  document.title = 'Sign in – Lockstep inspector'
  const token = el('input', { type: 'password', autocomplete: 'off', required: true, 'aria-describedby': 'token-hint' })
  const place = el('div', {}, reason ? notice('error', 'Signed out', reason) : '')
  const send = el('button', { class: 'main' }, 'Sign in')
  const form = el('form', {
    class: 'sign-in',
    onsubmit: async event => {
      event.preventDefault()
      send.disabled = true
      try {
        await request('/v1/admin/status', { token: token.value.trim() })
        session.begin(token.value.trim())
        await begin()
      } catch (error) {
        place.replaceChildren(error.status === 404
          ? notice('error', 'This server has no administrator token', 'Set LOCKSTEP_ADMIN_TOKEN and start the server again. If it is set, check that the proxy forwards /v1/admin/.') : failure(error))
        token.select()
      }
      send.disabled = false
    }
  }, el('h1', {}, 'Lockstep inspector'), el('p', { class: 'quiet' }, base.host),
  el('input', { type: 'text', autocomplete: 'username', value: 'administrator', hidden: true }),
  field('Token', token), el('p', { class: 'quiet', id: 'token-hint' }, 'The administrator token, or a service token with the scope read. It stays in this tab.'), send, place)
  document.body.replaceChildren(el('main', { class: 'gate' }, form))
  token.focus()
}

// ---- The frame ----------------------------------------------------------------------------------

let main, links

async function begin() {
  hasCollections = false
  try { hasCollections = 'v1/admin/collections' in ((await get('/', { fields: { Accept: 'application/json' } })).links ?? {}) } catch { /* The section stays hidden. */ }
  main = el('main', { id: 'main', tabindex: -1 })
  links = Object.keys(pages).filter(name => name !== 'collections' || hasCollections)
    .map(name => el('a', { 'data-page': name }, names[name]))
  document.body.replaceChildren(
    el('a', { class: 'skip', href: '#main', onclick: event => { event.preventDefault(); main.focus() } }, 'Skip to the page'),
    el('header', { class: 'side' },
      el('p', { class: 'brand' }, el('strong', {}, 'Lockstep'), el('span', {}, base.host)),
      el('nav', { 'aria-label': 'Pages' }, links),
      el('div', { class: 'foot' }, button('Sign out', () => session.end(), { class: 'minor' }))),
    main)
  health.startSampling()
  await show()
}

const read = () => {
  const [path, text = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return { parts: path.split('/').map(part => { try { return decodeURIComponent(part) } catch { return part } }), query: new URLSearchParams(text) }
}

const isId = text => /^[0-9a-f-]{36}$/.test(text ?? '')

async function show(isMove) {
  const { parts, query } = read()
  if (!Object.hasOwn(pages, parts[0])) {
    history.replaceState(null, '', '#/live')
    return show(isMove)
  }
  shown?.abort()
  const own = shown = new AbortController()
  const { signal } = own
  const page = parts[0] === 'users' && parts[1] ? user : pages[parts[0]]
  const remembered = sessionStorage.getItem('lockstep-inspector-user')
  for (const link of links) {
    const { page: name } = link.dataset
    const ofUser = (name === 'time' || name === 'act') && isId(remembered) ? `/${remembered}` : ''
    set(link, { href: `#/${name}${ofUser}`, 'aria-current': name === parts[0] ? 'page' : undefined })
  }
  const heading = el('h1', { tabindex: -1 }, page.title)
  const title = name => {
    document.title = `${name ? `${plain(name)} – ` : ''}${page.title} – Lockstep inspector`
    if (name) heading.replaceChildren(el('bdi', {}, plain(name)), el('small', {}, page.title))
  }
  title()
  const place = el('div', { class: 'page' })
  main.replaceChildren(heading, place)
  main.scrollTop = 0
  scrollTo(0, 0)
  if (isMove) heading.focus()
  links.find(link => link.hasAttribute('aria-current'))?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  let handlers = {}
  const context = {
    parts, query, signal, name: title,
    go: address => { location.hash = address },
    reload: () => signal.aborted || show(),
    /** Changes the query of the address. The page itself shows the change. */
    setQuery(changes) {
      if (signal.aborted) return
      for (const [name, value] of Object.entries(changes)) value ? query.set(name, value) : query.delete(name)
      const text = String(query)
      history.replaceState(null, '', `#/${read().parts.map(encodeURIComponent).join('/')}${text && `?${text}`}`)
    },
    setPath: address => signal.aborted || history.replaceState(null, '', address),
    register: added => { handlers = { ...handlers, ...added } },
    /** Calls `act` now and again after each pause. The first call may throw; a later one shows its error. */
    async every(milliseconds, act) {
      await act()
      ;(async () => {
        const problem = el('div')
        for (;;) {
          await pause(milliseconds, signal)
          if (signal.aborted) return
          if (document.hidden) continue
          try {
            await act()
            problem.remove()
          } catch (error) {
            if (signal.aborted) return
            problem.replaceChildren(failure(error))
            place.prepend(problem)
            if (error.status === 401 || error.status === 403) return
          }
        }
      })()
    }
  }
  keys = event => {
    if (event.key === 'Escape' && handlers.escape) return handlers.escape() !== false
    return handlers.keys?.[event.key]?.(event)
  }
  if (parts[0] === 'collections' && !hasCollections) return place.append(empty('This server does not support declared collections', 'Its collections are those of its modules. See the page of a user.'))
  const waiting = el('p', { class: 'quiet', role: 'status' }, 'Loading…')
  const timer = setTimeout(() => place.childElementCount || place.append(waiting), 200)
  try {
    await page.show(place, context)
  } catch (error) {
    if (signal.aborted) return
    place.replaceChildren(error.status === 404 && parts[1] ? empty('There is no such user', 'The user may have been erased.') : failure(error, () => show()))
  } finally {
    clearTimeout(timer)
    waiting.remove()
  }
}

// ---- The whole window ---------------------------------------------------------------------------

let keys = () => false

addEventListener('keydown', event => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog')) return
  const isTyping = event.target.closest?.('input, textarea, select')
  if (event.key === '/' && !isTyping) {
    const search = document.querySelector('[data-search]')
    if (!search) return
    event.preventDefault()
    search.focus()
    search.select()
  } else if (event.key === 'Escape' && isTyping && event.target.type === 'search' && event.target.value) {
    // The browser empties the field.
  } else if (keys(event)) event.preventDefault()
})
addEventListener('hashchange', () => session.token && show(true))
addEventListener('signedout', event => signIn(event.detail))

if (session.token) begin()
else signIn()
