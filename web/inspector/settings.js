// Registered defaults, and collections that are declared as JSON.
import { button, copyCurl, count, el, empty, failure, field, notice, plain, say } from './elements.js'
import { differenceOf, tree } from './json.js'
import { get, newKey, parse, request } from './server.js'

const pretty = value => JSON.stringify(value, null, 2)

export const registered = {
  title: 'Registered defaults',

  async show(main, { query, setQuery, signal }) {
    const suite = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', value: query.get('suite') || 'standard', pattern: '[A-Za-z0-9._\\-]{1,128}', required: true, 'data-search': true })
    const text = el('textarea', { rows: 11, class: 'code', spellcheck: 'false', 'aria-label': 'Values as JSON', oninput: () => mark() })
    const place = el('div', { 'aria-live': 'polite' })
    const save = el('button', { class: 'main', type: 'button', disabled: true, onclick: () => store() }, '')
    const reset = button('Discard my changes', () => { text.value = pretty(present); mark(); place.replaceChildren() }, { disabled: true })
    const path = () => `/v1/admin/registered/${encodeURIComponent(name())}`
    let present = {}
    let tag

    const name = () => query.get('suite') || 'standard'
    const mark = () => {
      save.textContent = `Save changes to ${name()}`
      save.disabled = reset.disabled = text.value === pretty(present)
    }
    const take = (values, newTag) => {
      present = values
      tag = newTag
      mark()
    }
    async function load() {
      place.replaceChildren()
      try {
        const { data, fields } = await request(path(), { signal })
        text.value = pretty(data.values)
        take(data.values, fields.get('ETag'))
      } catch (error) {
        if (!signal.aborted) place.replaceChildren(failure(error, load))
      }
    }
    async function store() {
      let values
      try { values = parse(text.value) } catch (error) { return place.replaceChildren(notice('error', 'This is not JSON', error.message)) }
      save.disabled = true
      try {
        const { data, fields } = await request(path(), { method: 'PUT', body: values, signal, fields: { 'If-Match': tag, 'Idempotency-Key': newKey() } })
        text.value = pretty(data.values)
        take(data.values, fields.get('ETag'))
        place.replaceChildren(notice('good', 'Saved', 'The change reaches every waiting client.'))
      } catch (error) {
        if (signal.aborted) return
        mark()
        if (error.status !== 412) return place.replaceChildren(failure(error))
        const current = error.problem.current?.values ?? {}
        const newTag = `"${error.problem.cursor}"`
        place.replaceChildren(
          notice('error', 'The values have changed since you read them', 'Nothing was saved. This is how your values differ from the present ones:'),
          differenceOf(current, values),
          el('div', { class: 'buttons' },
            button('Take the present values', () => { text.value = pretty(current); take(current, newTag); place.replaceChildren() }),
            button('Replace them with mine', () => { take(current, newTag); store() }, { class: 'danger' })),
          el('h3', {}, 'Present values'), tree(current, 2))
      }
    }
    const choice = el('form', { class: 'bar', onsubmit: event => { event.preventDefault(); setQuery({ suite: suite.value }); load() } },
      field('Suite', suite), el('button', {}, 'Show this suite'), el('div', { class: 'end' }, copyCurl(() => [path()])))
    main.append(
      el('p', { class: 'under' }, 'Values for all users: a user sees one until they set their own.'), choice, text,
      el('div', { class: 'buttons' }, save, reset, button('Copy the change as curl', () => {
        try { copyCurl(path(), { method: 'PUT', body: parse(text.value), fields: { 'If-Match': tag } }).click() } catch { say('The text is not JSON') }
      }, { class: 'minor' })), place)
    await load()
  }
}

export const collections = {
  title: 'Collections',

  async show(main, { signal }) {
    const { items } = await get('/v1/admin/collections', { signal })
    main.append(el('div', { class: 'bar' }, el('p', {}, 'Collections that were declared as JSON.'), el('div', { class: 'end' }, copyCurl('/v1/admin/collections'))))
    if (!items.length) return main.append(empty('No collection is declared', 'PUT /v1/admin/collections/{name} or lockstep collections apply declares one.'))
    main.append(el('p', { class: 'under quiet' }, count(items.length, 'collection')), ...items.map(item => el('section', { class: 'declared' },
      el('header', {}, el('h2', {}, plain(item.name)), el('span', { class: 'badge' }, plain(item.kind)), item.access === 'readOnly' ? el('span', { class: 'badge' }, 'read only') : ''),
      item.description ? el('p', {}, plain(item.description)) : '', el('div', { class: 'buttons' }, copyCurl(`/v1/admin/collections/${encodeURIComponent(item.name)}`)), tree(item, 1))))
  }
}
