/** Asks the server that the page came from. The token is kept here only. */

/** The server wants a token, or refused the one it got. */
export class TokenNeeded extends Error {}

/** The server answered that it cannot show this now. */
export class Refused extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

const patienceMs = 20_000

/** @type {string | undefined} */
let token

export function hasToken() {
  return token !== undefined
}

/** @param {string | undefined} text */
export function setToken(text) {
  token = text
}

/**
 * Throws TokenNeeded, Refused, or another error where there is no answer.
 * @param {Readonly<Record<string, string | number | undefined>>} parameters
 * @returns {Promise<unknown>}
 */
export async function askStatus(parameters) {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== '') query.set(name, String(value))
  const answer = await fetch(`/status?${query}`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    signal: AbortSignal.timeout(patienceMs),
  })
  if (answer.status === 401) throw new TokenNeeded()
  /** @type {unknown} */
  const body = await answer.json()
  if (answer.ok) return body
  const why = typeof body === 'object' && body !== null && 'error' in body ? String(body.error) : ''
  throw new Refused(answer.status, why === '' ? `the server answered ${answer.status}` : why)
}
