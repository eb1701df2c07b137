// Changesets and reducers as pure functions, against simple models and random data.
import assert from 'node:assert/strict'
import test from 'node:test'
import { apply, difference } from '../lockstep.js'
import { randomNumbers } from './server.js'

const seed = Number(process.env.LOCKSTEP_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`LOCKSTEP_TEST_SEED=${seed}`)

function edited(items, random) {
  const result = items.slice()
  for (let edit = random(8); edit > 0; edit--) {
    const index = random(result.length + 1)
    switch (random(4)) {
      case 0: result.splice(index, 0, { id: `n${random(1_000_000)}` }); break
      case 1: result.splice(index, 1); break
      case 2: if (result[index]) result[index] = { ...result[index], title: `t${random(10)}` }; break
      case 3: if (result[index]) result.splice(random(result.length), 0, ...result.splice(index, 1)); break
    }
  }
  return result
}

/** The least number of moves: the kept elements without a longest ascending subsequence. */
function fewestMoves(before, after) {
  const places = new Map(before.map((item, index) => [item.id, index]))
  const kept = after.map(item => places.get(item.id)).filter(index => index !== undefined)
  const longest = kept.map(() => 1)
  kept.forEach((index, at) => {
    for (let earlier = 0; earlier < at; earlier++) {
      if (kept[earlier] < index) longest[at] = Math.max(longest[at], longest[earlier] + 1)
    }
  })
  return kept.length - Math.max(0, ...longest)
}

test('A changeset between two random lists leads from one to the other, with the fewest moves', () => {
  const random = randomNumbers(seed)
  for (let round = 0; round < 2_000; round++) {
    const before = Array.from({ length: random(12) }, (_, index) => ({ id: `${index}` }))
    const after = edited(before, random)
    const change = difference(before, after)
    assert.deepEqual(apply(Object.freeze(before), change), after)
    assert.equal(change.moves.length, fewestMoves(before, after))
    for (const [name, key] of [['deletions', 'index'], ['insertions', 'index'], ['moves', 'from'], ['modifications', 'index']]) {
      const places = change[name].map(entry => entry[key])
      assert.deepEqual(places, places.toSorted?.((a, b) => a - b) ?? [...places].sort((a, b) => a - b))
    }
  }
})

test('A changeset between two random maps leads from one to the other', () => {
  const random = randomNumbers(seed)
  for (let round = 0; round < 500; round++) {
    const make = () => Object.fromEntries(Array.from({ length: random(5) }, () => [`k${random(6)}`, random(3)]))
    const [before, after] = [make(), make()]
    assert.deepEqual(apply(before, difference(before, after)), after)
  }
})

test('The example of docs/clients.md', () => {
  const before = ['a', 'b', 'c', 'd', 'e'].map(id => ({ id }))
  const change = {
    kind: 'list', deletions: [{ index: 1, id: 'b' }], insertions: [{ index: 0, item: { id: 'x' } }],
    moves: [{ from: 4, to: 1, id: 'e' }], modifications: [{ index: 3, newIndex: 4, item: { id: 'd', title: 'D' } }]
  }
  const after = apply(before, change)
  assert.deepEqual(after.map(item => item.title ?? item.id), ['x', 'e', 'a', 'c', 'D'])
  assert.ok(Object.isFrozen(after) && after.every(Object.isFrozen))
})

test('Names that JavaScript objects treat specially are keys like any other', () => {
  const values = JSON.parse('{"__proto__":{"a":1},"constructor":2,"toString":3}')
  const start = apply({}, { kind: 'map', values })
  const after = apply(start, { kind: 'map', set: JSON.parse('{"__proto__":{"b":2}}'), removed: ['constructor'] })
  assert.deepEqual(Object.keys(after).sort(), ['__proto__', 'toString'])
  assert.equal(JSON.stringify(Object.getOwnPropertyDescriptor(after, '__proto__').value), '{"b":2}')
  assert.equal(Object.getPrototypeOf(after), Object.prototype)
})
