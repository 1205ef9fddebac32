// Any command, ended by SIGKILL at a named step of the system (a sync, the end of a transaction, a further part).
//   node test/entry/command.ts --kill after:datasync:2 -- audit --zone 101 ...
import { parseArgs } from 'node:util'
import { main } from '../../src/program/main.ts'
import { passingOf, passOptions } from './steps.ts'
import { wrapSystem } from './wrapping.ts'

const { values, positionals } = parseArgs({ options: passOptions, allowPositionals: true })
await wrapSystem(passingOf(values))
const start = { exit: (code: number) => process.exit(code), hasHungUp: () => false }
process.exit(await main(positionals, start))
