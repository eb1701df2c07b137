// Act: send actions as a user, first as a dry run.
import { button, copyCurl, el, empty, failure, field, nameOf, notice, plain, tabs } from './elements.js'
import { userElement } from './journal.js'
import { tree } from './json.js'
import { get, newKey, parse, request, userPath } from './server.js'
import { choose } from './users.js'

export const title = 'Act'

export async function show(main, page) {
  const { parts: [, id], query, setQuery, signal } = page
  if (!id) return choose(main, page, 'Choose the user for whom you want to act.', 'act')
  sessionStorage.setItem('lockstep-inspector-user', id)
  const [user, catalogue] = await Promise.all([get(userPath(id), { signal }), get('/v1/reactors', { signal })])
  page.name(nameOf(user))
  const modulesOf = ({ items }) => items.filter(item => item.scope === 'user')
  let modules = modulesOf(catalogue)
  if (!modules.length) return main.append(empty('No module', 'The catalogue of this server has no module.'))

  const path = userPath(id, 'actions')
  const results = el('div', { class: 'results', 'aria-live': 'polite' })
  const commit = button('Commit', () => send(false), { disabled: true })
  const dry = el('button', { class: 'main' }, 'Dry run')
  /** The body and the cursor of the last dry run. Only this body can be committed, on this state. */
  let checked
  let edits = 0
  const changed = () => { edits++; checked = undefined; commit.disabled = true }

  // ---- The form of one action
  const options = () => modules.map(item => el('option', { value: item.name }, plain(item.name)))
  const module = el('select', { onfocus: refresh, onchange: () => { setQuery({ module: module.value, type: '' }); types(); form() } }, options())
  if (modules.some(item => item.name === query.get('module'))) module.value = query.get('module')
  const type = el('select', { onchange: () => { setQuery({ type: type.value }); form() } })
  const inputs = el('div', { class: 'inputs' })
  let read
  const actions = () => modules.find(item => item.name === module.value).actions
  const types = () => {
    type.replaceChildren(...actions().map(action => el('option', { value: action.type }, plain(action.type))))
    if (actions().some(action => action.type === query.get('type'))) type.value = query.get('type')
  }
  const form = () => {
    changed()
    const { payload = {} } = actions().find(action => action.type === type.value) ?? {}
    const parts = Object.entries(payload.properties ?? {})
      .filter(([, schema]) => !schema.description?.includes('ignores it'))
      .map(([name, schema]) => part(name, schema, payload.required?.includes(name)))
    inputs.replaceChildren(...(parts.length ? parts.map(part => part.element) : [el('p', { class: 'quiet' }, 'This action has no content.')]))
    read = () => {
      const content = {}
      for (const part of parts) {
        const value = part.read()
        if (value !== undefined) Object.defineProperty(content, part.name, { value, enumerable: true, configurable: true, writable: true })
      }
      return { actions: [{ module: module.value, type: type.value, payload: content }] }
    }
  }

  /** Collections may have been declared, changed or deleted since the page was opened. */
  async function refresh() {
    let latest
    try { latest = modulesOf(await get('/v1/reactors', { signal })) } catch { return }
    const isEqual = (left, right) => JSON.stringify(left) === JSON.stringify(right)
    if (isEqual(latest, modules) || !latest.length) return
    const [name, action, before] = [module.value, type.value, actions()]
    modules = latest
    module.replaceChildren(...options())
    if (modules.some(item => item.name === name)) module.value = name
    if (module.value === name && isEqual(actions(), before)) return
    types()
    if (actions().some(item => item.type === action)) type.value = action
    form()
  }

  // ---- A transaction as JSON
  const raw = el('textarea', { rows: 14, class: 'code', spellcheck: 'false', 'aria-label': 'Actions as JSON', oninput: changed })
  const isRaw = () => query.get('as') === 'json'
  const body = () => {
    if (!isRaw()) return read()
    try { return parse(raw.value) } catch (error) { throw new SyntaxError(`The transaction is not JSON: ${error.message}`) }
  }

  async function send(isDry) {
    results.replaceChildren(el('p', { class: 'quiet' }, 'Sending…'))
    dry.disabled = commit.disabled = true
    const edit = edits
    try {
      const content = isDry ? body() : checked.content
      const fields = isDry ? {} : { 'Idempotency-Key': checked.key, 'If-Match': `"${checked.cursor}"` }
      const response = await request(isDry ? `${path}?dryRun=true` : path, { method: 'POST', body: content, fields, signal })
      if (isDry) checked = { content, cursor: response.fields.get('Cursor') ?? response.data.cursor, key: newKey() }
      const done = content.actions?.map((action, index) => [`${action.module} ${action.type}`, response.data.results[index].mutations]) ?? []
      const isEmpty = done.every(([, mutations]) => !mutations.length)
      results.replaceChildren(
        isDry ? notice('note', isEmpty ? 'This would change nothing' : 'This would happen', 'Nothing has changed yet.')
          : notice('good', 'Committed', `The user's revision is now ${Number(response.fields.get('Revision')).toLocaleString('en')}.`, el('a', { href: `#/time/${id}` }, 'Show it in time travel')),
        ...done.map(([name, mutations]) => el('section', {}, el('h3', {}, plain(name)), mutations.length ? tree(mutations, 3) : el('p', { class: 'quiet' }, 'No mutation'))))
      if (!isDry) checked = undefined
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof SyntaxError) results.replaceChildren(notice('error', 'The form has an error', error.message))
      else if (error.status === 412) results.replaceChildren(notice('error', 'The state has changed since the dry run', 'Run it dry again to see what the actions would do now.'))
      else {
        results.replaceChildren(failure(error))
        if (typeof error.problem?.failed === 'number') results.append(el('p', {}, `The action with the index ${error.problem.failed} failed. Nothing has changed.`))
      }
      checked = undefined
    } finally {
      dry.disabled = false
      if (edit !== edits) checked = undefined
      commit.disabled = !checked
    }
  }

  const shownForm = el('div', {}, el('div', { class: 'bar' }, field('Module', module), field('Action', type)), inputs)
  const whole = el('form', { class: 'act', onsubmit: event => { event.preventDefault(); send(true) } },
    tabs('Content', [
      { name: 'form', title: 'Form', show: () => shownForm },
      {
        name: 'json', title: 'JSON of a transaction',
        show: () => {
          if (!raw.value) try { raw.value = JSON.stringify(read(), null, 2) } catch { raw.value = '{\n  "actions": []\n}' }
          return raw
        }
      }
    ], query.get('as') ?? 'form', name => { changed(); setQuery({ as: name }) }),
    el('div', { class: 'buttons' }, dry, commit, button('Copy as curl', () => {
      try { copyBody(body()) } catch (error) { results.replaceChildren(notice('error', 'The form has an error', error.message)) }
    }, { class: 'minor' })))
  const copyBody = content => copyCurl(path, { method: 'POST', body: content }).click()
  types()
  form()
  inputs.addEventListener('input', changed)
  main.append(el('p', { class: 'under' }, 'Act for a user: the actions below are done for ', userElement(id, true), '. A dry run shows the mutations and changes nothing. ', el('a', { class: 'button minor', href: '#/act' }, 'Another user')), whole, results)
}

/** The part of a form for a member of a payload, by its JSON Schema. */
function part(name, schema, isRequired) {
  const kinds = [schema.type ?? []].flat().filter(kind => kind !== 'null')
  const label = el('span', {}, plain(name), isRequired ? '' : el('span', { class: 'quiet' }, ' (optional)'))
  const missing = () => {
    if (isRequired) throw new SyntaxError(`${name} is missing.`)
  }
  if (schema.enum || kinds[0] === 'boolean') {
    const values = schema.enum ?? [true, false]
    const input = el('select', {}, el('option', { value: '' }, '–'), values.map((value, index) => el('option', { value: index }, plain(typeof value === 'string' ? value : JSON.stringify(value)))))
    return { name, element: field(label, input), read: () => input.value === '' ? missing() : values[input.value] }
  }
  if (kinds.length === 1 && kinds[0] === 'string') {
    const input = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', placeholder: schema.default ?? '' })
    return { name, element: field(label, input), read: () => input.value !== '' ? input.value : isRequired && !schema.minLength && !schema.pattern ? '' : missing() }
  }
  if (kinds.length === 1 && (kinds[0] === 'integer' || kinds[0] === 'number')) {
    const input = el('input', { type: 'text', inputmode: 'decimal', autocomplete: 'off', placeholder: kinds[0] })
    return { name, element: field(label, input), read: () => input.value.trim() === '' ? missing() : json(name, input.value) }
  }
  const input = el('textarea', { rows: 3, class: 'code', spellcheck: 'false', placeholder: kinds[0] === 'object' ? '{"name": "value"}' : 'JSON, such as {"stars": 3} or "text"' })
  return { name, element: field(label, input), read: () => input.value.trim() === '' ? missing() : json(name, input.value) }
}

function json(name, text) {
  try { return parse(text) } catch { throw new SyntaxError(`${name} is not JSON. Texts need quotation marks.`) }
}
