// Replays all dead letters as the command does, ended by SIGKILL at a named step.
//   node test/entry/replay.ts -c FILE --kill before:commit:3
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/clock.ts'
import { StoreTasks } from '../../src/assemble/dead-letters.ts'
import { openExistingStore } from '../../src/assemble/state.ts'
import { loadConfig } from '../../src/config/load.ts'
import { killAt, parseDeadline } from './steps.ts'
import { wrapStore, wrapSystem } from './wrapping.ts'

const { values } = parseArgs({
  options: {
    config: { type: 'string', short: 'c' },
    kill: { type: 'string' },
  },
})

const { config } = loadConfig({ argv: { config: values.config } })
const pass = killAt(values.kill === undefined ? undefined : parseDeadline(values.kill))
const store = await openExistingStore(config, systemClock)
if (store === undefined) throw new Error('there is no store')
await wrapSystem(pass)
wrapStore(store, pass)
const tasks = new StoreTasks(config, store, systemClock)
const groups = await tasks.groups(await tasks.counts())
const results = await tasks.replay(groups, () => undefined, new AbortController().signal)
for (const { sink, delivered, left, error } of results)
  process.stdout.write(
    `${sink}: ${delivered} delivered, ${left} left${error === undefined ? '' : `: ${error}`}\n`,
  )
await store.close()
