import type { SinkTried, StateTried, Tried } from '../../assemble/check.ts'
import { stateName } from '../../assemble/state.ts'
import type { Loaded } from '../../config/load/load.ts'
import type { Config, SinkConfig } from '../../config/schema/schema.ts'
import type { WorkerStatus } from '../../domain/status/status.ts'
import { printable } from '../../domain/text/printable.ts'
import { withoutSink } from '../../domain/text/without-sink.ts'
import { commandLine } from '../program-name.ts'
import { counted } from '../terminal/number.ts'
import type { Finding } from './finding.ts'
import type { ConnectStep } from '../../transport/connect-steps.ts'

export function configurationFindings({ config, file, overridden, warnings, exposed }: Loaded): Finding[] {
  const from = file === undefined ? 'flags and environment' : printable(file)
  const note = (text: string): Finding => ({ step: '', mark: 'note', text })
  return [
    {
      step: 'configuration',
      mark: 'ok',
      text: `${from}; ${zonesText(config)}, ${counted(config.sinks.length, 'sink')}`,
    },
    ...overridden.map(({ path, where }) => note(`${path} is overridden by the environment: ${where}`)),
    ...[...warnings, ...exposed].map((text) => note(printable(text))),
  ]
}

function zonesText({ accounts }: Config): string {
  const named = accounts.flatMap(({ zones }) => zones).length
  const all = accounts.filter(({ discovery }) => discovery !== undefined).map(({ name }) => name)
  if (all.length === 0) return counted(named, 'zone')
  const some = all.length === accounts.length ? 'all zones' : `all zones of ${all.join(', ')}`
  return named === 0 ? some : `${counted(named, 'zone')}, ${some}`
}

export function stateFindings(
  config: Config,
  tried: StateTried,
  worker: WorkerStatus | undefined,
): Finding[] {
  const name = printable(stateName(config))
  if (!tried.isWell) return [{ step: 'state', mark: 'fail', text: printable(tried.why) }]
  const well: Finding = { step: 'state', mark: 'ok', text: `${name}, opened for writing` }
  const note = (text: string): Finding => ({ step: '', mark: 'note', text: printable(text) })
  const running = worker === undefined ? [] : [note(`${worker.name} runs on it`)]
  return [well, ...tried.warnings.map(note), ...running]
}

/** A port that the shieldlog of this state uses is not a problem: `run` is active. */
export function portFindings({ server }: Config, tried: Tried, worker: WorkerStatus | undefined): Finding[] {
  const address = `${server.host}:${server.port}`
  if (tried.isWell) return [{ step: 'port', mark: 'ok', text: server.port === 0 ? 'any free one' : address }]
  if (worker !== undefined && tried.why.includes('in use'))
    return [
      { step: 'port', mark: 'note', text: `${address} is in use; ${printable(worker.name)} is running` },
    ]
  return [{ step: 'port', mark: 'fail', text: printable(tried.why) }]
}

export function sinkFindings(sink: SinkConfig, { address, check, steps = [], sent }: SinkTried): Finding[] {
  const step = sinkStep(sink)
  if ('why' in check)
    return [
      { step, mark: 'fail', text: printable(withoutSink(check.why, sink.name)) },
      ...stepFindings(steps),
    ]
  const found = check.found === undefined ? '' : `, ${check.found}`
  const well: Finding[] = [
    { step, mark: 'ok', text: `${printable(address)}${found}` },
    ...(check.note === undefined ? [] : [{ step: '', mark: 'note', text: check.note } as const]),
  ]
  if (sent !== undefined)
    return [
      ...well,
      { step: 'test event', mark: sent.isWell ? 'ok' : 'fail', text: printable(sent.text), isPart: true },
    ]
  if (check.untested === undefined) return well
  const text = `${check.untested}; to test them with one event: ${commandLine('check --send-test')}`
  return [...well, { step: '', mark: 'note', text }]
}

export function heldFinding(sink: SinkConfig, why: string): Finding {
  return { step: sinkStep(sink), mark: 'fail', text: printable(why, 1_000) }
}

export function sinkStep({ name }: Pick<SinkConfig, 'name'>): string {
  return `sink ${printable(name)}`
}

/** Step by step, where a connection or an answer failed: the failure itself is counted once. */
export function stepFindings(steps: readonly ConnectStep[]): Finding[] {
  return steps.map(({ step, isWell, text }) => ({
    step,
    mark: isWell ? 'ok' : 'fail',
    text: printable(text),
    isPart: true,
    isCounted: false,
  }))
}
