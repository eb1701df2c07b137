// The pages behind the links in mails: /account/reset takes a new password, /account/confirm confirms
// an address. Loading a page changes nothing, because mail scanners open links; a button does.

import { language, text } from './account-texts.js'

const main = document.querySelector('main')
const isReset = location.pathname.endsWith('/reset')

/** Makes an element. Strings become text, never markup. */
function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, '')
    else if (value !== false && value != null) made.setAttribute(key, value)
  }
  made.append(...children)
  return made
}

/** Shows a page. After the first one, the heading gets the focus, so that screen readers read it. */
function show(title, ...content) {
  const isFirst = !main.querySelector('h1')
  const heading = element('h1', { tabindex: '-1' }, title)
  document.title = title
  main.replaceChildren(heading, element('p', { class: 'server' }, location.host), ...content)
  if (!isFirst) heading.focus()
  return heading
}

const paragraph = (...content) => element('p', {}, ...content)
/** The server writes its details in English. */
const detail = words => element('span', { lang: 'en' }, words)

/** Takes the token out of the address, so that it stays in no history and on no screen. */
function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (location.hash) history.replaceState(null, '', location.pathname)
  return token
}

/** Sends the request. Returns undefined after a success, and elements that explain a failure. */
async function send(path, method, body) {
  let response
  try {
    response = await fetch(new URL(`../v1/${path}`, location.href), {
      method, body: body && JSON.stringify(body), headers: body && { 'Content-Type': 'application/json' },
      credentials: 'omit', cache: 'no-store', redirect: 'error', signal: AbortSignal.timeout(30_000)
    })
  } catch {
    return [paragraph(text.unreachable)]
  }
  if (response.ok) return undefined
  const problem = await response.json().catch(() => undefined)
  const faults = Array.isArray(problem?.errors) ? problem.errors.map(fault => fault?.detail).filter(isText) : []
  if (response.status === 404) return [paragraph(text.gone)]
  if (response.status === 429) return [paragraph(text.late)]
  if (response.status === 422 && faults.length) {
    return [paragraph(text.refused), element('ul', { lang: 'en' }, ...faults.slice(0, 10).map(words => element('li', {}, words)))]
  }
  return [paragraph(text.failed), ...(isText(problem?.detail) ? [paragraph(detail(problem.detail))] : [])]
}

const isText = value => typeof value === 'string' && value !== ''

/** A form that calls `submit` once at a time, and shows the failures that it returns. */
function form(label, fields, submit, done) {
  const button = element('button', { type: 'submit' }, label)
  const message = element('div', { class: 'message', role: 'alert', id: 'message' })
  const made = element('form', {}, ...fields, button, message)
  let isBusy = false
  made.addEventListener('submit', async event => {
    event.preventDefault()
    if (isBusy) return
    isBusy = true
    button.setAttribute('aria-disabled', 'true')
    button.textContent = text.busy
    message.replaceChildren()
    const failure = await submit()
    isBusy = false
    button.removeAttribute('aria-disabled')
    button.textContent = label
    if (!made.isConnected) return
    if (failure) message.replaceChildren(...failure)
    else done()
  })
  return made
}

function showReset(token) {
  const input = element('input', {
    id: 'password', type: 'password', autocomplete: 'new-password', required: true, maxlength: '1000',
    autocapitalize: 'none', spellcheck: 'false', 'aria-describedby': 'message'
  })
  const box = element('input', { type: 'checkbox' })
  box.addEventListener('change', () => { input.type = box.checked ? 'text' : 'password' })
  // Password managers look for a user in each form with a password. The link does not name the user.
  const user = element('input', { type: 'text', autocomplete: 'username', hidden: true })
  const fields = [user, element('label', { for: 'password' }, text.password), input, element('label', { class: 'show' }, box, text.show)]
  const submit = async () => {
    input.removeAttribute('aria-invalid')
    const failure = await send(`password-resets/${encodeURIComponent(token)}`, 'PUT', { password: input.value })
    if (failure) {
      input.setAttribute('aria-invalid', 'true')
      input.focus()
    }
    return failure
  }
  show(text.resetTitle, form(text.reset, fields, submit, () => {
    show(text.resetDone, paragraph(text.resetNext)).classList.add('done')
  }))
}

function showConfirm(token) {
  const submit = () => send(`email-proofs/${encodeURIComponent(token)}`, 'POST')
  show(text.confirmTitle, paragraph(text.confirmText), form(text.confirm, [], submit, () => {
    show(text.confirmDone, paragraph(text.confirmNext)).classList.add('done')
  }))
}

function start() {
  const token = takeToken()
  if (!token) show(text.linkTitle, paragraph(text.linkText))
  else if (isReset) showReset(token)
  else showConfirm(token)
}

document.documentElement.lang = language
// The link of another mail may open in the same tab, which then does not load the page again.
addEventListener('hashchange', () => { if (location.hash) start() })
start()
