// Replays all dead letters as the command does, ended by SIGKILL at a named step.
//   node test/entry/replay.ts -c FILE --kill before:commit:3
import { parseArgs } from 'node:util'
import { openWork } from '../../src/assemble/work.ts'
import { loadConfig } from '../../src/config/load.ts'
import { killAt, parseDeadline } from './steps.ts'
import { wrapStore, wrapSystem } from './wrapping.ts'
import { replayDeadLetters } from '../../src/maintenance/dead-letters.ts'
import { changeDeadLetters } from '../../src/assemble/dead-letters.ts'

const { values } = parseArgs({
  options: {
    config: { type: 'string', short: 'c' },
    kill: { type: 'string' },
  },
})

const { config } = loadConfig({ argv: { config: values.config } })
const pass = killAt(values.kill === undefined ? undefined : parseDeadline(values.kill))
const { signal } = new AbortController()
await using work = await openWork(config, { store: 'existing' }, signal)
const { store } = work
await wrapSystem(pass)
wrapStore(store, pass)
const chosen = await store.deadLetters.list()
const results = await changeDeadLetters(work, { delivers: true }, (over) =>
  replayDeadLetters(chosen, over, () => undefined, signal),
)
for (const { sink, delivered, left, error } of results)
  process.stdout.write(
    `${sink}: ${delivered} delivered, ${left} left${error === undefined ? '' : `: ${error}`}\n`,
  )
