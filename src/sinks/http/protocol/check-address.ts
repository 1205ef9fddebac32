import type { Answer, Ask, Checked, Retry, Stop, Verdict } from './preset.ts'
import { readStatus } from './status.ts'

/** The address exists, but not for this method, or not without a body. */
const knowsAddress = new Set([400, 405, 411, 415, 422, 501])

/**
 * Checks an address by a request without a body and with a safe method: detects a wrong name, port, certificate or path
 * and, where the destination checks them for this method, wrong credentials. Cannot detect whether events would be
 * accepted.
 */
export async function checkAddress(ask: Ask): Promise<Checked> {
  const first = await ask({ method: 'HEAD' })
  // Some frameworks answer 404 to a method without a handler; OPTIONS then shows whether the address exists.
  const second = first.status === 404 ? await ask({ method: 'OPTIONS' }) : undefined
  const isBetter = second !== undefined && second.status >= 200 && second.status < 300
  const answer = isBetter ? second : first
  const verdict = knowsAddress.has(answer.status) ? { kind: 'delivered' as const } : readStatus(answer.status)
  if (verdict.kind === 'stop' || verdict.kind === 'retry') return { verdict, answer }
  return {
    found: `answered ${answer.status} to ${isBetter ? 'OPTIONS' : 'HEAD'}`,
    untested: 'credentials not tested',
  }
}

export interface EmptyBatch {
  readonly body: string
  /** True for the answer of a destination that would accept events. */
  isWell(answer: Answer): boolean
  readonly found: string
  readonly untested?: string
  /** Interprets the answer; the default uses only its status. */
  read?(answer: Answer): Verdict
}

/** Checks address and credentials with a body without events, for destinations that accept one. */
export async function checkByEmptyBatch(ask: Ask, batch: EmptyBatch): Promise<Checked> {
  const { body, found, untested, read = ({ status }: Answer) => readStatus(status) } = batch
  const answer = await ask({ method: 'POST', body })
  if (batch.isWell(answer)) return { found, ...(untested !== undefined && { untested }) }
  return { verdict: refusalOf(read(answer)), answer }
}

/** Why a destination would accept nothing, from the verdict on a request of a check. */
export function refusalOf(verdict: Verdict): Stop | Retry {
  if (verdict.kind === 'stop' || verdict.kind === 'retry') return verdict
  return {
    kind: 'stop',
    remedy: 'check url and preset: this is not an answer of such a destination',
    credentials: false,
  }
}
