// The state machine of the connection: every pair of a state and an event.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import test from 'node:test'
import { next } from '../lockstep.js'
import { table as documented } from './table.js'

const states = ['idle', 'connecting', 'live', 'offline', 'needsLogin', 'failed', 'stopped']

// For each event, the next state and the commands, in the order of `states`. An empty text means
// that nothing happens.
const table = {
  start: ['connecting connect', '', '', '', ...Array(3).fill('connecting connect')],
  stop: [...Array(6).fill('stopped disconnect'), ''],
  response: ['', 'live send', '', '', '', '', ''],
  noResponse: ['', 'offline disconnect wait', 'offline disconnect wait', '', '', '', ''],
  time: ['', '', '', 'connecting connect', '', '', ''],
  wake: ['', ...Array(3).fill('connecting disconnect connect'), '', '', ''],
  visible: ['', '', '', 'connecting disconnect connect', '', '', ''],
  unauthorized: ['', ...Array(3).fill('needsLogin disconnect'), '', '', ''],
  refused: ['', ...Array(3).fill('failed disconnect'), '', '', ''],
  login: ['', ...Array(5).fill('connecting disconnect connect'), ''],
  unknown: Array(7).fill('')
}

for (const [type, row] of Object.entries(table)) {
  states.forEach((name, index) => {
    test(`${name}, ${type}: ${row[index] || 'nothing'}`, () => {
      const state = Object.freeze({ name, attempt: 0 })
      const [after, commands] = next(state, { type, at: 5, error: 'e' })
      const [expected = name, ...expectedCommands] = row[index].split(' ').filter(word => word)
      assert.equal(after.name, expected)
      assert.deepEqual(commands, expectedCommands)
      if (!row[index]) assert.equal(after, state)
    })
  })
}

test('Failures in a row are counted until a response arrives', () => {
  let state = { name: 'connecting', attempt: 0 }
  for (let attempt = 1; attempt <= 3; attempt++) {
    [state] = next(state, { type: 'noResponse', at: 1, error: 'e' })
    assert.deepEqual(state, { name: 'offline', attempt, at: 1, error: 'e' });
    [state] = next(state, { type: 'time' })
    assert.deepEqual(state, { name: 'connecting', attempt })
  }
  assert.deepEqual(next(state, { type: 'response' })[0], { name: 'live', attempt: 0 })
})

const docs = new URL('../../docs/web.md', import.meta.url)
test('The table in docs/web.md is that of the code', { skip: !existsSync(docs) }, () => {
  assert.ok(readFileSync(docs, 'utf8').includes(documented()), 'run node web/tests/table.js')
})
