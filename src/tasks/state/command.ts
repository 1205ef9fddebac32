import { resolve } from 'node:path'
import { Argument, type Command } from 'commander'
import { hasPlace, heldSinks, rememberSinks, separatedBy, type HeldSinks } from '../../assemble/held-sinks.ts'
import { createHolder, createLock, stateName } from '../../assemble/state.ts'
import { createLoggedRuntime } from '../../assemble/logged-runtime.ts'
import { openSink } from '../../assemble/shipping.ts'
import { openWork } from '../../assemble/work.ts'
import type { Config, SinkConfig } from '../../config/schema.ts'
import { Failure } from '../../domain/failure.ts'
import { counted, printable } from '../../domain/text/terminal-text.ts'
import { renameSink } from './rename-sink.ts'
import { forget } from './forget.ts'
import { sinkNameArgument, chooseSinks, unknownName, wholeNumber } from '../options.ts'
import { exitCodes, type Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'
import { UsageError } from '../../terminal/io.ts'
import { wrapped } from '../../terminal/text.ts'
import { storeOf, namesOf, storedIn } from './stored.ts'

export function register({ command: state, io, exit, load }: Registration): void {
  state.addHelpText('after', example('state rename-sink archive main'))
  state
    .command('rename-sink')
    .description("move a sink's checkpoints, gaps and dead letters to another name")
    .argument('<old>', 'present name')
    .argument('<new>', 'new name, never used before', sinkNameArgument)
    .addHelpText('after', example('state rename-sink siem splunk'))
    .action(async (from: string, to: string, _: unknown, command: Command) => {
      if (from === to)
        throw new UsageError(
          `the present name and the new name are both ${printable(from)}; use another new name`,
        )
      const { config } = load(command, 'state')
      const streams = await renameInStore(config, from, to, io.signal)
      io.stdout.write(`${counted(streams, 'stream')} moved from ${from} to ${to}\n`)
      if (!config.sinks.some(({ name }) => name === to))
        io.stderr.write(
          `change the name of the sink to ${to} in the configuration too, before the next run\n`,
        )
    })
  state
    .command('new-sink')
    .description('say that a held sink is a new one, to which everything shall be shipped')
    .argument('<name>', 'as in the configuration')
    .addHelpText('after', example('state new-sink splunk'))
    .action(async (name: string, _: unknown, command: Command) => {
      const { config } = load(command, 'state')
      const why = (await acceptNew(config, chooseSinks(config, [name], 'sink')[0]!, io.signal)).get(name)
      if (why === undefined)
        io.stdout.write(`${name} is a new sink: all days that the API lists are shipped to it\n`)
      else io.stderr.write(wrapped(`sink ${name}: ${printable(why, 1_000)}\n`, io.stderr))
      exit(exitCodeOf(why === undefined))
    })
  for (const [what, argument] of [
    ['sink', new Argument('<name>', 'as it was in the configuration')],
    ['zone', new Argument('<zone>', 'its id').argParser(wholeNumber)],
  ] as const)
    state
      .command(`forget-${what}`)
      .description(`drop all that is stored of a ${what} that was removed from the configuration`)
      .addArgument(argument)
      .option('--yes', 'do not ask for confirmation')
      .addHelpText('after', example(`state forget-${what} ${what === 'sink' ? 'siem' : '103'}`))
      .action(async (named: string | number, options: { yes?: boolean }, command: Command) => {
        const of = typeof named === 'string' ? { sink: named } : { zone: named }
        const done = await forget(load(command, 'state').config, of, options, io)
        io.stdout.write(done ?? '')
        exit(exitCodeOf(done !== undefined))
      })
  state
    .command('backup')
    .description('copy an embedded state to a new file, also while a run writes to it')
    .argument('<file>', 'a new file')
    .addHelpText('after', example('state backup copy.db'))
    .action(async (file: string, _: unknown, command: Command) => {
      io.stdout.write(await backUpState(load(command, 'state').config, file))
    })
}

/** `isDone`: false where a sink stays held, and where a person did not confirm it. */
function exitCodeOf(isDone: boolean): number {
  return isDone ? exitCodes.done : exitCodes.failed
}

/** Moves the store's records of a sink to another name, while no `run` works on it. Throws Failure and UsageError. */
async function renameInStore(config: Config, from: string, to: string, signal: AbortSignal): Promise<number> {
  const runtime = createLoggedRuntime(config, { logLevel: 'warn' })
  await using work = await openWork(config, { store: 'existing', runtime }, signal)
  const store = storeOf(work, 'rename')
  await using parts = new AsyncDisposableStack()
  const lock = parts.adopt(createLock(config, store, runtime.clock), (each) => each.release())
  const other = await lock.acquire()
  if (other !== undefined) {
    const why = `another shieldlog runs on this state: ${other}`
    throw new Failure('wait', 'held', `${why}; stop it first, or it would continue under the old name`)
  }
  const names = namesOf((await storedIn(store)).all.map(({ sink }) => sink))
  if (!names.includes(from))
    throw unknownName({ option: 'sink', name: from, what: 'is not in the state', names })
  // The configuration may still name the sink by its old name, or already by the new one.
  const files = config.sinks.filter(({ type }) => type === 'file')
  const settings = files.find(({ name }) => name === from) ?? files.find(({ name }) => name === to)
  const sink = settings && openSink({ ...settings, name: from }, runtime)
  parts.defer(() => sink?.close())
  // With the schedule lock no other process starts a pump meanwhile, and there is no wait for a dead one.
  const { deps } = await work.shipping({ delivers: false, holder: createHolder(true) })
  return await renameSink({ from, to, sink }, deps, signal)
}

/** Stores that a sink is a new one, also where it looks like another under a new name. Throws Failure. */
async function acceptNew(config: Config, sink: SinkConfig, signal: AbortSignal): Promise<HeldSinks> {
  if (!hasPlace(sink)) {
    const why = `the address of sink ${sink.name} is not known here`
    const remedy = 'set the variables, or make readable the files, that it uses'
    throw new Failure('refuse', 'rejected', `${why}: ${remedy}`)
  }
  await using work = await openWork(config, { store: 'created' }, signal)
  const held = await heldSinks(config, work.store)
  // Only another place helps these. Nothing is stored of the sink, so that its remedy keeps naming the old one.
  if (separatedBy(sink) !== undefined && held.has(sink.name)) return held
  await rememberSinks({ sinks: [sink] }, work.store)
  return await heldSinks({ sinks: [sink] }, work.store)
}

/** Copies an embedded state to a new file, also while a `run` writes to it. Returns what to print. Throws Failure. */
async function backUpState(config: Config, file: string): Promise<string> {
  const { state } = config
  if (state.kind !== 'sqlite') {
    const remedy = 'back up Redis itself, by its RDB or append-only file'
    throw new Failure(
      'refuse',
      'rejected',
      `state backup copies SQLite, and the state is ${stateName(config)}: ${remedy}`,
    )
  }
  const { backUp } = await import('../../state/sqlite/backup.ts')
  const target = resolve(file)
  const bytes = await backUp(state.path, target)
  const size = `${(bytes / 1e6).toFixed(1)} MB`
  return `copied ${size} from ${printable(stateName(config))} to ${printable(target)}\n`
}
