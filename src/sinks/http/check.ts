import type { SinkCheck } from '../../ports/delivery.ts'
import type { Clock } from '../../ports/process.ts'
import { retryOf, stopOf } from './answer-texts.ts'
import { readPage, readStatus } from './protocol/answers.ts'
import type { Ask, Checked, Preset } from './protocol/preset.ts'
import type { Exchange, PrepareRequest } from './request.ts'
import type { TargetSource } from './target.ts'

export interface CheckDeps {
  readonly what: string
  readonly exchange: Exchange
  readonly prepare: PrepareRequest
  readonly targets: TargetSource
  readonly preset: Preset
  readonly clock: Clock
}

/** Checks the destination with the check of its preset. Throws Failure like a delivery. */
export async function checkDestination(deps: CheckDeps, signal: AbortSignal): Promise<SinkCheck> {
  const { what, exchange, prepare, targets, preset, clock } = deps
  let asked = { url: new URL(preset.url), credentials: {} }
  let page: Extract<Checked, { verdict: unknown }> | undefined
  const ask: Ask = async ({ method, path, url, body, mediaType = preset.mediaType }) => {
    const bytes = body === undefined ? undefined : Buffer.from(body)
    const prepared = await prepare(bytes ?? Buffer.alloc(0), undefined, signal)
    const to = new URL(path ?? '', url ?? prepared.url)
    asked = { ...prepared, url: path === undefined && url === undefined ? prepared.url : to }
    const result = await exchange(
      {
        url: asked.url,
        method,
        headers: { ...prepared.headers, ...(bytes !== undefined && { 'content-type': mediaType }) },
        ...(bytes !== undefined && { body: { key: '', bytes, plainBytes: 0 } }),
        pieces: [],
        read: ({ status }) => readStatus(status),
      },
      signal,
    )
    const verdict = readPage(result.answer)
    if (verdict !== undefined) page = { verdict, answer: result.answer }
    return result.answer
  }
  const answered = await preset.check(ask)
  const checked = page ?? answered
  if (!('verdict' in checked)) return checked
  const { verdict, answer } = checked
  const about = { what, url: asked.url, forms: targets.formsWith(asked.credentials) }
  throw verdict.kind === 'stop'
    ? stopOf(verdict, answer, about)
    : retryOf(verdict, answer, about, clock.now())
}
