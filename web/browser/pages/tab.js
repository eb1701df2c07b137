// A tab of an app, for the tests: a client in global variables, and its favorites as text.
import * as client from '/lockstep.js'

const { server, ...options } = Object.fromEntries(new URLSearchParams(location.search))
const lockstep = new client.Lockstep(server, options)
const favorites = lockstep.list('favorites')
const settings = lockstep.suite()

function show() {
  document.querySelector('#favorites').replaceChildren(...favorites.value.map(({ id, title }) => {
    const item = document.createElement('li')
    item.textContent = title ?? id
    return item
  }))
  document.documentElement.dataset.theme = settings.get('theme', 'light')
}

favorites.subscribe(show)
settings.subscribe(show)
lockstep.start()
show()

Object.assign(globalThis, {
  ...client, lockstep, favorites, settings,
  states: [],
  ids: () => favorites.value.map(item => item.id).join(),
  account: email => ({ email, password: 'correct horse' })
})
lockstep.onState(state => globalThis.states.push(state.name))
globalThis.isLoaded = true
