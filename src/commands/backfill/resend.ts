import type { Config } from '../../config/schema/schema.ts'
import { printable } from '../../domain/text/printable.ts'
import type { Io } from '../io.ts'
import { UsageError } from '../registration.ts'
import { chooseSinks } from '../selection.ts'
import { counted } from '../terminal/number.ts'
import type { BackfillPlan } from '../../maintenance/backfill/backfill-plan.ts'

/** The answer to the confirmation of a resend. */
export interface ResendOptions {
  readonly sink?: string[]
  readonly source?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/**
 * Refuses what cannot be shipped once more, and a resend that cannot be confirmed, before anything is read.
 * Throws UsageError.
 */
export function checkResend(config: Config, options: ResendOptions, io: Pick<Io, 'ask'>): void {
  const { sink = [], source, dryRun = false, yes = false } = options
  if (source !== undefined)
    throw new UsageError('--resend reads the API and --source reads files; use one of them')
  refuseFiles(config, sink)
  if (yes || dryRun || io.ask !== undefined) return
  throw new UsageError(
    '--resend ships events a second time; without a terminal to ask on, confirm with --yes',
  )
}

function refuseFiles(config: Config, names: readonly string[]): void {
  const chosen = chooseSinks(config, names)
  const file = chosen.find(({ type }) => type === 'file')
  if (file === undefined) return
  const what = `${printable(file.name)} is a file sink, and --resend does not work for file sinks`
  const files = 'give the file sink a new name and path in the configuration, and run a backfill for it'
  const others = config.sinks.filter(({ type }) => type !== 'file').map(({ name }) => name)
  const remedy = others.length === 0 ? files : `choose another sink (--sink ${others.join(',')}), or ${files}`
  throw new UsageError(names.length === 0 ? `--resend: ${what}: ${remedy}` : `--sink ${what}: ${remedy}`)
}

/** Asks for confirmation, unless --yes was given. */
export async function isResendAgreed(
  { streams, delivered }: BackfillPlan,
  { yes = false }: ResendOptions,
  { ask }: Pick<Io, 'ask'>,
): Promise<boolean> {
  if (yes || ask === undefined) return yes
  const queued = streams.filter(({ state }) => state === 'queued').map(({ stream }) => stream)
  const days = new Set(queued.map(({ day }) => day)).size
  const sinks = [...new Set(queued.map(({ sink }) => sink))].map((name) => printable(name))
  const events = delivered === undefined ? 'all events' : `about ${counted(delivered, 'event')}`
  const what = `this ships ${events} of ${counted(days, 'day')} again to ${sinks.join(', ')}`
  const answer = await ask(
    `${what}; a destination that does not deduplicate will have them twice. Continue? [y/N] `,
  )
  return /^y(?:es)?$/i.test(answer.trim())
}
