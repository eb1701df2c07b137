// Health: values of the last minutes, status, settings and waits.
import { bytes, copyCurl, el, facts, failure, plain, timeElement } from './elements.js'
import { userElement } from './journal.js'
import { tree } from './json.js'
import { base, get } from './server.js'
import { waitList } from './user.js'

const interval = 5_000
const kept = 15 * 60_000 / interval

// ---- Samples ------------------------------------------------------------------------------------

/** The sums of metrics over their labels, and the buckets of one histogram. */
export function readMetrics(text) {
  const sums = new Map()
  for (const line of text.split('\n')) {
    const found = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (!found) continue
    const [, name, labels = '', value] = found
    if (name.endsWith('_bucket')) {
      if (name !== 'lockstep_store_commit_duration_seconds_bucket') continue
      sums.set(`commit ${/le="([^"]+)"/.exec(labels)?.[1]}`, Number(value))
    } else sums.set(name, (sums.get(name) ?? 0) + Number(value))
  }
  return sums
}

const samples = []
let timer

/** Samples the metrics as long as the page is in view. Each sample has its time and the values. */
export function startSampling() {
  if (timer) return
  const sample = async () => {
    const at = Date.now()
    if (document.hidden) return
    try {
      const response = await fetch(new URL('metrics', base), { cache: 'no-store', credentials: 'omit' })
      if (!response.ok) return
      const sums = readMetrics(await response.text())
      // The counters begin at 0 again when the server has started again.
      if (sums.get('lockstep_uptime_seconds') < samples.at(-1)?.sums.get('lockstep_uptime_seconds')) samples.length = 0
      // After a delay, two samples may be so close together that a rate between them means nothing.
      if (at - samples.at(-1)?.at < interval / 2) return
      samples.push({ at, sums })
      if (samples.length > kept + 1) samples.shift()
      dispatchEvent(new Event('sampled'))
    } catch { /* The next sample shows the gap. */ }
  }
  timer = setInterval(sample, interval)
  sample()
}

export function stopSampling() {
  clearInterval(timer)
  timer = undefined
  samples.length = 0
}

const level = name => ({ sums }) => sums.get(name)
/** The increase between two samples, by the seconds between them. */
const rate = name => (now, before) => before && (now.sums.get(name) - before.sums.get(name)) / ((now.at - before.at) / 1_000)
/** The mean of a histogram between two samples, or nothing if nothing was counted. */
const mean = name => (now, before) => {
  if (!before) return
  const number = now.sums.get(`${name}_count`) - before.sums.get(`${name}_count`)
  return number > 0 ? (now.sums.get(`${name}_sum`) - before.sums.get(`${name}_sum`)) / number : undefined
}

const milliseconds = value => `${(value * 1_000).toFixed(value < 0.01 ? 2 : 0)} ms`
const whole = value => Math.round(value).toLocaleString('en')
const charts = [
  { name: 'Commit time', about: 'mean of each 5 s', value: mean('lockstep_store_commit_duration_seconds'), text: milliseconds },
  { name: 'Group size', about: 'writes in a commit', value: mean('lockstep_store_commit_writes'), text: value => value.toFixed(1) },
  { name: 'Writes', about: 'a second', value: rate('lockstep_store_writes_total'), text: value => value.toFixed(1) },
  { name: 'Requests', about: 'a second', value: rate('lockstep_http_request_duration_seconds_count'), text: value => value.toFixed(1) },
  { name: 'Waits', about: 'requests that wait', value: level('lockstep_waiting_requests'), text: whole },
  { name: 'Connections', about: 'open', value: level('lockstep_http_connections'), text: whole },
  { name: 'Memory', about: 'of the process', value: level('process_resident_memory_bytes'), text: bytes },
  { name: 'CPU', about: 'of one core', value: rate('process_cpu_seconds_total'), text: value => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %` }
]

// ---- Charts -------------------------------------------------------------------------------------

const [width, height] = [300, 64]

function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

/** The line through the values. Samples without a value leave a gap. */
function draw({ name, value, text }) {
  const points = samples.map((sample, index) => [sample.at, value(sample, samples[index - 1])]).filter(([, y]) => Number.isFinite(y))
  const values = points.map(([, y]) => y)
  const top = Math.max(...values, 0) * 1.1 || 1
  const end = Date.now()
  const x = at => width - (end - at) / (kept * interval) * width
  const y = number => height - 1 - number / top * (height - 2)
  let path = ''
  let last = -Infinity
  for (const [at, number] of points) {
    path += `${at - last > 2.5 * interval ? 'M' : 'L'}${x(at).toFixed(1)} ${y(number).toFixed(1)}`
    last = at
  }
  const summary = values.length
    ? `${name}: now ${text(values.at(-1))}, between ${text(Math.min(...values))} and ${text(Math.max(...values))}` : `${name}: no value yet`
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${summary} in the last 15 minutes` },
    ...[0.25, 0.5, 0.75].map(part => svg('line', { class: 'guide', x1: 0, x2: width, y1: height * part, y2: height * part })),
    svg('path', { class: 'line', d: path, 'vector-effect': 'non-scaling-stroke' }))
  if (points.length === 1) picture.append(svg('circle', { class: 'dot', cx: x(points[0][0]), cy: y(values[0]), r: 2 }))
  return { picture, now: values.length ? text(values.at(-1)) : '–', range: values.length ? `${text(Math.min(...values))} to ${text(Math.max(...values))}` : ' ' }
}

function duration(seconds) {
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60]
  return days ? `${days} d ${hours} h` : hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min` : `${Math.floor(seconds)} s`
}

// ---- The page -----------------------------------------------------------------------------------

export const title = 'Health'

export async function show(main, page) {
  const { signal, every } = page
  const drawings = charts.map(chart => {
    const now = el('strong')
    const range = el('small', { class: 'quiet' })
    const place = el('div', { class: 'chart' })
    const element = el('section', {}, el('h2', {}, chart.name, ' ', el('small', {}, chart.about)), now, place, range)
    return { element, update: () => { const drawn = draw(chart); now.textContent = drawn.now; range.textContent = drawn.range; place.replaceChildren(drawn.picture) } }
  })
  const update = () => { for (const drawing of drawings) drawing.update() }
  addEventListener('sampled', update, { signal })
  update()
  const status = el('div')
  const [nodes] = await Promise.all([get('/v1/admin/nodes', { signal }), every(5_000, async () => {
    const { version, uptimeSeconds, storeBytes, backups } = await get('/v1/admin/status', { signal })
    status.replaceChildren(facts([
      ['Version', plain(version)], ['Up for', duration(uptimeSeconds)], ['Store', bytes(storeBytes)],
      ['Backups', backups ? `${backups.made} made, ${backups.failures} failed` : 'not scheduled'],
      backups && ['Last backup', backups.last ? el('span', {}, timeElement(backups.last), `, ${bytes(backups.bytes)}`) : 'none yet']
    ]))
  })])
  const { configuration } = await get('/v1/admin/status', { signal })
  const waits = el('section')
  main.append(status, el('div', { class: 'charts' }, drawings.map(drawing => drawing.element)),
    el('h2', {}, 'Waits'), waits,
    el('h2', {}, 'Servers'), tree(nodes.items, 2),
    el('h2', {}, 'Settings'), el('div', { class: 'buttons' }, copyCurl('/v1/admin/status')), tree(configuration, 1))
  try {
    await waitList(waits, { ...page, userCell: user => user ? userElement(user, true) : el('span', { class: 'quiet' }, 'none') }, () => true, 'No request waits')
  } catch (error) { if (!signal.aborted) waits.append(failure(error)) }
}
