import type { SinkCheck } from '../../ports/delivery.ts'
import { retryOf, stopOf } from './answer-texts.ts'
import { readPage, readStatus } from './protocol/answers.ts'
import type { Ask, Checked } from './protocol/preset.ts'
import { prepareRequest, type RequestDeps, sendRequest } from './request.ts'

/** Checks the destination with the check of its preset. Throws Failure like a delivery. */
export async function checkDestination(deps: RequestDeps, signal: AbortSignal): Promise<SinkCheck> {
  const { what, targets, preset, clock } = deps
  let asked = { url: new URL(preset.url), credentials: {} }
  /** A page of HTML comes from no destination, whatever the check of the preset makes of it. */
  let page: Extract<Checked, { verdict: unknown }> | undefined
  const ask: Ask = async ({ method, url, body, mediaType = preset.mediaType }) => {
    const bytes = Buffer.from(body ?? '')
    const prepared = await prepareRequest(deps, bytes, undefined, signal)
    asked = { ...prepared, url: url === undefined ? prepared.url : new URL(url) }
    const headers = { ...prepared.headers, ...(body !== undefined && { 'content-type': mediaType }) }
    const sending = {
      url: asked.url,
      method,
      headers,
      pieces: [],
      ...(body !== undefined && { body: { bytes, plainBytes: 0 } }),
    }
    const { answer } = await sendRequest(
      deps,
      { ...sending, read: ({ status }) => readStatus(status) },
      signal,
    )
    const verdict = readPage(answer)
    if (verdict !== undefined) page = { verdict, answer }
    return answer
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
