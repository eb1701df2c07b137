// Requests to the server. The token is in the session storage of this tab and in the header field
// Authorization, and nowhere else.

/** The server's address. The inspector is one folder below it. */
export const base = new URL('..', import.meta.url)

const tokenName = 'lockstep-inspector-token'
const silence = 45_000

export const session = {
  get token() { return sessionStorage.getItem(tokenName) },
  begin(token) { sessionStorage.setItem(tokenName, token) },
  /**
   * Forgets the token. The page asks for another one, and says why. With `token`, only if it is still
   * that one: the response to an older request may arrive after the user has signed in again.
   */
  end(reason, token = this.token) {
    if (token !== this.token) return
    sessionStorage.removeItem(tokenName)
    dispatchEvent(new CustomEvent('signedout', { detail: reason }))
  }
}

// ---- JSON ---------------------------------------------------------------------------------------

const isExact = 'rawJSON' in JSON

/** Reads JSON. Integers that a JavaScript number cannot hold keep their digits. */
export function parse(text) {
  if (!isExact || !/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, (name, value, context) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context.source)
      ? JSON.rawJSON(context.source) : value)
}

export const isRaw = value => isExact && JSON.isRawJSON(value)

/** The members of an object as a `Map`, because a name may be `__proto__`. */
export const members = object => new Map(Object.entries(object))

// ---- Refusals -----------------------------------------------------------------------------------

/** The server's refusal of a request. The status is 0 if there was no response. */
export class Refusal extends Error {
  constructor(status, problem = {}, retryAfter) {
    super(problem.detail ?? problem.title ?? `The server responded with ${status}.`)
    Object.assign(this, { status, problem, retryAfter })
  }

  /** The refusal in one line for a person. */
  get title() {
    if (this.isUnreachable) return 'Not available for this name'
    switch (this.status) {
      case 0: return 'The server cannot be reached'
      case 401: return 'The server does not accept this token'
      case 403: {
        const [, scope] = /the scope (\w+)/.exec(this.problem.detail) ?? []
        return scope ? `This token lacks the scope ${scope}` : 'This token is not allowed to do this'
      }
      case 412: return 'It has changed meanwhile'
      case 429: return 'Too many requests'
      default: return this.problem.title ?? 'The request failed'
    }
  }

  get text() {
    const faults = (this.problem.errors ?? []).map(fault => `${fault.pointer || 'The body'}: ${fault.detail}`)
    const text = [faults.length ? '' : this.message, ...faults].filter(Boolean).join(' ')
    if (this.status !== 429 || !this.retryAfter) return text
    const until = new Date(Date.now() + this.retryAfter * 1_000)
    return `Try again in ${this.retryAfter} seconds, at ${until.toLocaleTimeString()}.`
  }
}

const unreachable = () => new Refusal(0, { detail: 'Check the network, and whether the server runs.' })

async function refusal(response) {
  let problem
  try { problem = await response.json() } catch { problem = undefined }
  return new Refusal(response.status, problem, Number(response.headers.get('Retry-After')) || undefined)
}

// ---- Requests -----------------------------------------------------------------------------------

/** Browsers resolve the names `.` and `..` in a path, also when they are encoded. */
const isAltered = path => path.split('?')[0].split('/').some(part => /^(\.|%2e){1,2}$/i.test(part))

/** The address of a path. Throws if it would be that of another route. */
function address(path) {
  if (isAltered(path)) {
    throw Object.assign(new Refusal(0, {
      detail: 'Browsers resolve the names “.” and “..” in paths, so the inspector cannot send this request. Use “Copy as curl”. '
        + 'The present values are on the page of the user, under State.'
    }), { isUnreachable: true })
  }
  return new URL(path.replace(/^\//, ''), base)
}

/**
 * Sends a request. Returns the status, the JSON or text of the body, and the header fields. Throws a
 * `Refusal` unless the status is 2xx or 304. A 401 ends the session of the page.
 */
export async function request(path, { method = 'GET', body, fields, signal, token } = {}) {
  const used = token ?? session.token
  const url = address(path)
  const headers = { Authorization: `Bearer ${used}`, ...fields }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  let response, text
  try {
    response = await fetch(url, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store', credentials: 'omit', redirect: 'error'
    })
    if (response.ok) text = await response.text()
  } catch (error) {
    throw signal?.aborted ? error : unreachable()
  }
  if (!response.ok && response.status !== 304) {
    const error = await refusal(response)
    if (error.status === 401 && token === undefined) session.end('The server no longer accepts the token.', used)
    throw error
  }
  const isJSON = response.headers.get('Content-Type')?.includes('json')
  return { status: response.status, data: text && isJSON ? parse(text) : text, fields: response.headers }
}

export const get = async (path, options) => (await request(path, options)).data

/** The path of a user's resource. `rest` may contain slashes. */
export const userPath = (user, rest = '') => `/v1/admin/users/${encodeURIComponent(user)}${rest && '/'}${rest}`

/** The path of a collection, such as `defaults/standard`. */
export const collectionPath = (user, name, at) =>
  userPath(user, name.split('/').map(encodeURIComponent).join('/')) + (at ? `?at=${encodeURIComponent(at)}` : '')

/** A new value for Idempotency-Key. `crypto.randomUUID` needs HTTPS. */
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('')

// ---- The same as a command ----------------------------------------------------------------------

const quote = text => `'${text.replaceAll("'", "'\\''")}'`

const escapeDots = path => path.replace(/(?<=\/)\.{1,2}(?=[/?]|$)/g, dots => dots.replaceAll('.', '%2E'))

/** The request as a command. The token stays out of it. */
export function curl(path, { method = 'GET', body, fields = {} } = {}) {
  const json = body === undefined ? '' : JSON.stringify(body)
  // Longer bodies do not fit on a command line.
  const isLong = json.length > 30_000
  const parts = [isLong ? `printf %s ${quote(json)} | curl -sS` : 'curl -sS']
  const isExact = isAltered(path)
  if (isExact) parts.push('--path-as-is')
  if (method !== 'GET') parts.push(`-X ${method}`)
  parts.push(quote(isExact ? base.origin + base.pathname.replace(/\/$/, '') + escapeDots(path) : address(path).href), '-H "Authorization: Bearer $LOCKSTEP_ADMIN_TOKEN"')
  for (const [name, value] of Object.entries(fields)) parts.push(`-H ${quote(`${name}: ${value}`)}`)
  if (json) parts.push("-H 'Content-Type: application/json'", isLong ? '--data-binary @-' : `-d ${quote(json)}`)
  return parts.join(' \\\n  ')
}

export { quote }

// ---- Events -------------------------------------------------------------------------------------

/** Waits, unless the signal ends it. */
export const pause = (milliseconds, signal) => new Promise(resolve => {
  const timer = setTimeout(resolve, milliseconds)
  signal?.addEventListener('abort', () => { clearTimeout(timer); resolve() }, { once: true })
})

/**
 * Follows an event stream until the signal ends it or the server refuses it. `take` gets the data,
 * the id and the type of each event, `change` the name of a state: `connecting`, `live`, or `waiting` with the
 * seconds until the next attempt. Connects again after an error, later after each failure, and
 * continues after the last event.
 */
export async function follow(path, { signal, take, change }) {
  const url = address(path)
  let last
  for (let failures = 0; !signal.aborted;) {
    change('connecting')
    const attempt = new AbortController()
    const end = () => attempt.abort()
    signal.addEventListener('abort', end)
    let timer
    const listen = () => {
      clearTimeout(timer)
      timer = setTimeout(end, silence)
    }
    let wait
    try {
      listen()
      const used = session.token
      const headers = { Authorization: `Bearer ${used}`, Accept: 'text/event-stream' }
      if (last) headers['Last-Event-ID'] = last
      const response = await fetch(url, {
        headers, signal: attempt.signal, cache: 'no-store', credentials: 'omit', redirect: 'error'
      })
      if (!response.ok) {
        const error = await refusal(response)
        if (error.status === 401) session.end('The server no longer accepts the token.', used)
        if (error.status < 500 && error.status !== 429) throw error
        wait = error.retryAfter
      } else {
        change('live')
        for await (const event of eventsOf(response.body, listen)) {
          failures = 0
          if (event.id) last = event.id
          if (event.data) take(event.data, event.id, event.type)
        }
      }
    } catch (error) {
      if (error instanceof Refusal) throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      attempt.abort()
    }
    if (signal.aborted) return
    const seconds = wait ?? Math.min(30, 2 ** failures++) * (0.75 + Math.random() / 2)
    change('waiting', Math.ceil(seconds))
    await pause(seconds * 1_000, signal)
  }
}

/** The events of a body. A comment with an id is an event without data. */
async function* eventsOf(body, listen) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let event = {}
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    listen()
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (line === '') {
        yield event
        event = {}
      } else if (line.startsWith('data:')) {
        const data = line.slice(line[5] === ' ' ? 6 : 5)
        event.data = event.data === undefined ? data : `${event.data}\n${data}`
      } else if (line.startsWith('id:')) {
        event.id = line.slice(3).trim()
      } else if (line.startsWith('event:')) {
        event.type = line.slice(6).trim()
      }
    }
  }
}
