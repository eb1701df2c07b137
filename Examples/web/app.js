import { server } from './config.js'
import { Lockstep } from './lockstep.js'
import { reorder } from './reorder.js'

const lockstep = new Lockstep(server, { name: 'favorites' })
const favorites = lockstep.list('favorites')
const settings = lockstep.suite('standard')
const page = Object.fromEntries([...document.querySelectorAll('[id]')].map(element => [element.id, element]))
const texts = { live: 'Up to date', offline: 'Offline', needsLogin: 'Not logged in', failed: 'Refused by the server' }

const isDragging = reorder(page.list, (row, index) => {
  const item = favorites.value[index]
  if (item && item.id !== row.dataset.id) {
    favorites.move(row.dataset.id, index)
    page.moved.textContent = `${row.firstElementChild.textContent} is now number ${index + 1}.`
  }
  show()
})

function fill(row, { id, title = id }, waits) {
  Object.assign(row.dataset, { id, waits })
  row.querySelector('.title').textContent = title
  for (const button of row.querySelectorAll('button')) button.ariaLabel = `${button.title} ${title}`
  row.querySelector('.remove').onclick = () => {
    const next = row.nextElementSibling ?? row.previousElementSibling
    favorites.remove(id)
    ;(next?.querySelector('.remove') ?? page.title).focus()
  }
  return row
}

function show() {
  const { pending, refused, state, storeError } = lockstep
  const notes = [pending.length && `${pending.length} unconfirmed`, storeError && 'not kept on this device']
  page.state.textContent = [texts[state.name] ?? 'Connecting', ...notes].filter(Boolean).join(', ')
  page.login.hidden = state.name !== 'needsLogin'
  page.app.hidden = !page.login.hidden && !favorites.isReady
  page.reasons.textContent = refused.map(({ title }) => title).join(' ')
  page.theme.value = document.documentElement.dataset.theme = settings.get('theme', 'system')
  if (isDragging()) return
  const focused = document.activeElement
  const rows = new Map(Array.from(page.list.children, row => [row.dataset.id, row]))
  const waiting = new Set(pending.flatMap(({ actions }) => actions.map(({ payload }) => payload.id)))
  page.list.replaceChildren(...favorites.value.map(item =>
    fill(rows.get(item.id) ?? page.row.content.firstElementChild.cloneNode(true), item, waiting.has(item.id))))
  focused.focus({ preventScroll: true })
}

page.login.onsubmit = async event => {
  event.preventDefault()
  const failed = ({ problem, title, message }) => problem?.errors?.map(({ detail }) => detail).join(' ') ?? title ?? message
  const entered = lockstep[event.submitter.value](Object.fromEntries(new FormData(page.login)))
  page.problem.textContent = await entered.then(() => '', failed)
}
page.add.onsubmit = event => {
  event.preventDefault()
  favorites.put(`photo:${Date.now()}`, { title: page.title.value, index: 0 })
  page.add.reset()
}
page.theme.onchange = () => settings.set('theme', page.theme.value)
page.logOut.onclick = () => lockstep.logOut()
page.dismiss.onclick = () => lockstep.refused.forEach(entry => lockstep.dismiss(entry))

for (const source of [favorites, settings]) source.subscribe(show)
lockstep.onState(show)
lockstep.start()
