import { Failure, isFailure } from '../../domain/failure.ts'
import { headerValueError } from '../../domain/text/http-rules.ts'
import { maskText } from './mask.ts'
import { post, type PostDeps } from './post.ts'
import type { Preset } from './protocol/preset.ts'
import type { TargetSource } from './target.ts'

/** A request without method and body, with all secrets in plain text: never print it. */
export interface Prepared {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** The headers that the preset built from its secrets. */
  readonly credentials: Readonly<Record<string, string>>
}

/**
 * Finds address, headers and credentials for the next try of a body. `refused` are the credentials that the destination
 * has just refused. Throws Failure like a request, since it may request a token.
 */
export type PrepareRequest = (
  body: Buffer,
  refused: Readonly<Record<string, string>> | undefined,
  signal: AbortSignal,
) => Promise<Prepared>

export interface PrepareDeps extends PostDeps {
  readonly targets: TargetSource
  readonly preset: Preset
}

export function createPrepareRequest(deps: PrepareDeps): PrepareRequest {
  const { targets, preset, clock, what } = deps
  return async (body, refused, signal) => {
    const target = targets.current()
    const authorise = async () =>
      (await preset.authorise?.({
        body,
        ...(refused !== undefined && { refused }),
        nowMs: clock.now(),
        ask: (request) => post(request, deps, signal),
      })) ?? {}
    try {
      const credentials = await authorise()
      assertSendable(credentials)
      return {
        url: target.url,
        headers: { ...preset.headers, ...credentials, ...target.headers },
        credentials,
      }
    } catch (error) {
      if (!isFailure(error) || error.kind === 'cancelled' || error.message.startsWith(what)) throw error
      const message = maskText(error.message, targets.formsWith({}))
      throw new Failure(error.kind, error.code, `${what}: ${message}`, error.details)
    }
  }
}

/** A secret that was read again may contain characters that are invalid in a header. */
function assertSendable(credentials: Readonly<Record<string, string>>): void {
  for (const [header, value] of Object.entries(credentials)) {
    const error = headerValueError(value)
    if (error === undefined) continue
    throw new Failure('stop', 'sink_refuses', `the value of ${header} ${error.problem}: ${error.remedy}`)
  }
}

/** True when both would send the same. */
export function isSameRequest(one: Prepared, other: Prepared): boolean {
  return one.url.href === other.url.href && JSON.stringify(one.headers) === JSON.stringify(other.headers)
}
