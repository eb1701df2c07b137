// Users: search by e-mail address.
import { List, ago, bytes, copyCurl, count, el, empty, failure, field, nameOf, plain, userText } from './elements.js'
import { learn } from './journal.js'
import { request } from './server.js'

const size = 100

export const title = 'Users'

/** The list of users. `target` makes the address of the page that a user opens. */
export async function show(main, { query, setQuery, go, signal }, target = id => `#/users/${id}`) {
  let path
  const search = el('input', {
    type: 'search', autocomplete: 'off', spellcheck: 'false', value: query.get('prefix') ?? '', 'data-search': true,
    placeholder: 'ada@', oninput: () => {
      clearTimeout(timer)
      timer = setTimeout(() => load({ prefix: search.value.trim(), after: '' }), 200)
    },
    onkeydown: event => {
      if (event.key !== 'ArrowDown' || list.element.hidden) return
      event.preventDefault()
      list.element.focus()
      list.select(0)
    }
  })
  let timer
  const summary = el('p', { class: 'under quiet', role: 'status' })
  const list = new List({
    label: 'Users', kind: 'users',
    columns: [
      {
        name: 'E-mail', class: 'email',
        show: user => [el('a', { href: target(user.id), tabindex: -1 }, el('bdi', {}, plain(nameOf(user)))), user.disabled ? el('span', { class: 'badge bad' }, 'disabled') : '']
      },
      { name: 'Revision', class: 'revision number', show: user => user.revision.toLocaleString('en') },
      { name: 'Size', class: 'size number', show: user => bytes(user.bytes) },
      { name: 'Last seen', class: 'seen', show: user => user.lastSeenAt ? el('time', { datetime: user.lastSeenAt, title: user.lastSeenAt }, ago(user.lastSeenAt)) : 'never' },
      { name: 'Id', class: 'id', show: user => userText(user.id) }
    ],
    open: user => go(target(user.id))
  })
  const none = el('div')
  const next = el('button', { type: 'button', hidden: true }, 'Next page')
  const first = el('button', { type: 'button', hidden: true, onclick: () => load({ after: '' }) }, 'First page')
  let turn = 0

  async function load(changes = {}) {
    const own = ++turn
    setQuery(changes)
    const prefix = query.get('prefix') ?? ''
    const after = query.get('after') ?? ''
    path = `/v1/admin/users?${new URLSearchParams({ limit: size, ...(after && { after }), ...(prefix && { prefix }) })}`
    let items, link
    try {
      const response = await request(path, { signal })
      items = response.data.items
      link = /<([^>]+)>; *rel="next"/.exec(response.fields.get('Link') ?? '')?.[1]
    } catch (error) {
      if (!signal.aborted && own === turn) none.replaceChildren(failure(error, () => load()))
      return
    }
    if (own !== turn) return
    for (const user of items) learn(user.id, nameOf(user))
    list.element.hidden = !items.length
    list.update(items)
    list.element.scrollTop = 0
    none.replaceChildren(items.length ? '' : prefix ? empty('No user has such an address', `No address begins with ${plain(prefix)}.`) : empty('No user yet'))
    summary.textContent = items.length ? count(items.length, 'user') + (link || after ? ' on this page' : '') : ''
    next.hidden = !link
    next.onclick = () => load({ after: new URL(link, location.origin).searchParams.get('after') })
    first.hidden = !after
  }

  main.append(el('div', { class: 'bar' }, field('E-mail address begins with', search), el('div', { class: 'end' }, first, next, copyCurl(() => [path]))),
    summary, el('div', { class: 'listed' }, list.element, none))
  await load()
}

/** The first part of a page about one user: if there is none, the list to choose one from. */
export async function choose(main, page, purpose, name) {
  main.append(el('p', { class: 'under' }, purpose))
  await show(main, page, id => `#/${name}/${id}`)
}
