import type { Clock } from '../../ports.ts'
import type { Answered, Ask } from './ask.ts'
import { faultOf, retryOf } from './failures.ts'
import type { Preset } from './presets/preset.ts'
import type { TargetSource } from './target.ts'

export interface ProbeDeps {
  readonly what: string
  readonly ask: Ask
  readonly targets: TargetSource
  readonly preset: Preset
  readonly clock: Clock
}

/**
 * Asks the far side without leaving anything there: a request without a body, by a method that changes nothing. It
 * finds a wrong name, port, certificate, address and, where the far side looks at them for this method too, wrong
 * credentials. It cannot tell whether events would be taken. Throws Failure like a delivery.
 */
export async function probe(deps: ProbeDeps, signal: AbortSignal): Promise<void> {
  const { what, preset, clock } = deps
  const target = deps.targets.current()
  const { method, path } = preset.probe
  const url = path === undefined ? target.url : new URL(path, target.url)
  const headers = { ...preset.headers, ...target.headers }
  const askBy = (by: string) => deps.ask({ url, method: by, headers, pieces: [] }, signal)

  const first = await askBy(method)
  const { answer, verdict } = first.answer.status === 404 ? await secondOpinion(first, askBy) : first
  // The address is known, but not for this method, or not without a body.
  if ([400, 405, 411, 415, 422, 501].includes(answer.status)) return
  if (verdict.kind === 'fault') throw faultOf(verdict, answer, target, what)
  if (verdict.kind === 'retry') throw retryOf(verdict, answer, what, clock.now())
}

/** Some frameworks answer 404 to a method that an address was not given: then they tell of it by OPTIONS alone. */
async function secondOpinion(
  first: Answered,
  askBy: (method: string) => Promise<Answered>,
): Promise<Answered> {
  const second = await askBy('OPTIONS')
  const { status } = second.answer
  return status >= 200 && status < 300 ? second : first
}
