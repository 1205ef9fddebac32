import type { Clock } from '../../ports/clock.ts'
import type { SinkCheck } from '../../ports/sink.ts'
import type { Exchange, ExchangeResult } from './exchange.ts'
import { stopOf, retryOf } from './failures.ts'
import type { Answer, Preset, Verdict } from './presets/preset.ts'
import { readStatus } from './presets/status.ts'
import type { TargetSource } from './target.ts'

export interface ProbeDeps {
  readonly what: string
  readonly exchange: Exchange
  readonly targets: TargetSource
  readonly preset: Preset
  readonly clock: Clock
}

/**
 * Checks the destination without leaving anything there, by a request without a body and with a safe method. Detects a
 * wrong name, port, certificate or address and, where the destination checks them for this method, wrong credentials.
 * Cannot tell whether events would be taken. Throws Failure like a delivery.
 */
export async function probe(deps: ProbeDeps, signal: AbortSignal): Promise<SinkCheck> {
  const { what, preset, clock } = deps
  const target = deps.targets.current()
  const { method, path } = preset.probe
  const url = path === undefined ? target.url : new URL(path, target.url)
  const headers = { ...preset.headers, ...target.headers }
  const probeBy = (by: string) =>
    deps.exchange({ url, method: by, headers, pieces: [], read: readProbe }, signal)

  const first = await probeBy(method)
  const { answer, verdict } = first.answer.status === 404 ? await secondOpinion(first, probeBy) : first
  if (verdict.kind === 'stop') throw stopOf(verdict, answer, target, what)
  if (verdict.kind === 'retry') throw retryOf(verdict, answer, what, clock.now())
  return {
    found: `answered ${answer.status} to ${method}`,
    ...(preset.probe.testsCredentials !== true && { untested: 'credentials not tested' }),
  }
}

/** The address exists, but not for this method, or not without a body. */
const knowsAddress = new Set([400, 405, 411, 415, 422, 501])

/** A check has no events, so the preset's interpretation of bodies does not apply. */
function readProbe({ status }: Answer): Verdict {
  return knowsAddress.has(status) ? { kind: 'accepted' } : readStatus(status)
}

/** Some frameworks answer 404 to a method without a handler; OPTIONS then tells whether the address exists. */
async function secondOpinion(
  first: ExchangeResult,
  probeBy: (method: string) => Promise<ExchangeResult>,
): Promise<ExchangeResult> {
  const second = await probeBy('OPTIONS')
  const { status } = second.answer
  return status >= 200 && status < 300 ? second : first
}
