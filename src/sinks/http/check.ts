import type { SinkCheck } from '../../ports/delivery.ts'
import { type Asked, failureOf } from './answer-texts.ts'
import { readPage, readStatus } from './protocol/answers.ts'
import type { Answer, Ask, Retry, Stop } from './protocol/preset.ts'
import { prepareRequest, type RequestDeps, sendRequest } from './request.ts'

/** Checks the destination with the check of its preset. Throws Failure like a delivery. */
export async function checkDestination(deps: RequestDeps, signal: AbortSignal): Promise<SinkCheck> {
  const { what, secrets, preset, clock } = deps
  let asked: Asked | undefined
  const failed = (verdict: Stop | Retry, answer: Answer) => failureOf(verdict, answer, asked!, clock.now())
  const ask: Ask = async ({ method, url: other, body, mediaType = preset.mediaType }) => {
    const bytes = Buffer.from(body ?? '')
    const prepared = await prepareRequest(deps, bytes, undefined, signal)
    const url = new URL(other ?? preset.url)
    asked = { what, url, mask: secrets.maskWith(prepared.credentials) }
    const headers = { ...prepared.headers, ...(body !== undefined && { 'content-type': mediaType }) }
    const sending = { url, method, headers, pieces: [], read: ({ status }: Answer) => readStatus(status) }
    const content = body === undefined ? {} : { body: { bytes, plainBytes: 0 } }
    const { answer } = await sendRequest(deps, { ...sending, ...content }, signal)
    // A page of HTML comes from no destination, whatever the check of the preset would make of it.
    const page = readPage(answer)
    if (page !== undefined) throw failed(page, answer)
    return answer
  }
  const checked = await preset.check(ask)
  if ('verdict' in checked) throw failed(checked.verdict, checked.answer)
  return checked
}
