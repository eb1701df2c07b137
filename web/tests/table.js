// Prints the table of the connection's state machine for docs/web.md, made from the code.
import { next } from '../lockstep.js'

const states = ['idle', 'connecting', 'live', 'offline', 'needsLogin', 'failed', 'stopped']
const events = ['start', 'stop', 'response', 'noResponse', 'time', 'wake', 'visible', 'unauthorized', 'refused', 'login']

export function table() {
  const cell = (name, type) => {
    const [after, commands] = next({ name, attempt: 0 }, { type })
    return commands.length ? `${after.name}: ${commands.join(', ')}` : '–'
  }
  return [
    `| event | ${states.map(name => `\`${name}\``).join(' | ')} |`,
    `|${'---|'.repeat(states.length + 1)}`,
    ...events.map(type => `| \`${type}\` | ${states.map(name => cell(name, type)).join(' | ')} |`)
  ].join('\n')
}

if (process.argv[1] === new URL(import.meta.url).pathname) console.log(table())
