import { nearest } from '../text/nearest.ts'

/** The words that the service is known to use for an event. It may add some. */
export const knownWords = {
  /** Only `Blocked` has been seen; the others are documented, as an action that was taken or as one to take. */
  actions: (
    'Blocked Logged Challenged RateLimited Allowed Bypassed Detected Captcha ' +
    'Block Log Challenge RateLimit Allow Bypass Detect'
  ).split(' '),
  severities: ['notice', 'warning', 'error', 'critical', '0', '1', '2'],
} as const

const nouns = {
  actions: 'an action',
  severities: 'a severity',
  countries: 'a country of ISO 3166 (two letters)',
}
export type WordKind = keyof typeof nouns

/** Why no event is known to have this word, with a remedy; undefined for a known word, in any case. */
export function unknownWord(kind: WordKind, word: string): string | undefined {
  const text = word.trim()
  const words = kind === 'countries' ? [] : knownWords[kind]
  const close = kind === 'countries' ? countryOf(text) : nearest(text, words)
  if (close?.toLowerCase() === text.toLowerCase()) return undefined
  const others = kind === 'countries' ? 'such as DE or US' : `known: ${words.join(', ')}`
  const remedy = close === undefined ? others : `did you mean ${close}?`
  return `is not known as ${nouns[kind]}, so it may match no event; ${remedy}`
}

/** The code of a country by its code or by another one (UK). */
function countryOf(text: string): string | undefined {
  if (!/^[a-z]{2}$/i.test(text)) return undefined
  const region = new Intl.Locale(`und-${text}`).region!
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  return names.of(region) === undefined ? undefined : region
}
