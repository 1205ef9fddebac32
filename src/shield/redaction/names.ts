import { percentDecoded } from '../../domain/text/decode.ts'
import { matchesPattern } from '../../domain/text/pattern.ts'

/** Mark a name wherever they stand in one of its words: `csrfmiddlewaretoken`, `PHPSESSID`. */
const parts =
  'token secret password passw passphrase passcode pwd credential cookie signature authorization authentication oauth jwt ' +
  'csrf xsrf sessionid sessid'
/** Mark it as words of their own: they begin other words, as in `author`, `passage`, `design`. */
const words = 'pass pw auth session sid sig otp totp'
/** Mark it with `key` behind them, in one word or two. */
const owners = 'api access private subscription functions master customer consumer'
/** Of parameters, where they are the whole name. */
const wholeNames = 'key code'

const list = (names: string) => names.replaceAll(' ', ', ')
export const headerRule = `those with ${list(parts)} in their names, or the words ${list(words)}, or key after ${list(owners)}`
export const queryRule = `those of the same names, and ${wholeNames.replace(' ', ' and ')}`

const either = (names: string) => names.replaceAll(' ', '|')
const secretName = new RegExp(
  `${either(parts)}|-(?:${either(words)})s?-|(?:${either(owners)})-*key(?:s|-*id)?-`,
)
const wholeName = new RegExp(`^-+(?:${either(wholeNames)})-+$`)

/** Anything but a letter separates words, and so does a change of case: `apiKey`, `APIKey`, `HTTP_API_KEY`. */
function isSecretName(name: string): boolean {
  const cased = name.replace(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-')
  // Also without its case: `pAsSwOrD` is one word.
  return secretName.test(`-${cased}-${name}-`.toLowerCase().replace(/[^a-z]/g, '-'))
}

interface Names {
  /** Hidden besides those that the rule hides; with `*`, in any case. */
  readonly listed: readonly string[]
  /** Not hidden. */
  readonly kept: readonly string[]
}

export function hiddenHeaders({ listed, kept }: Names): (name: string) => boolean {
  const [isListed, isKept] = [anyOf(listed), anyOf(kept)]
  return byName((name) => {
    const plain = name.trim().toLowerCase()
    return !isKept(plain) && (isListed(plain) || isSecretName(name))
  })
}

/** Of URLs that are encoded in each other. */
const mostEncodings = 8

/** Names as they stand in a query, percent-encoded; `token[]` and `token[a]` are listed and kept as `token`. */
export function hiddenParameters({ listed, kept }: Names): (name: string) => boolean {
  const [isListed, isKept] = [anyOf(listed), anyOf(kept)]
  return byName((encoded) => {
    let name = encoded.replaceAll('+', ' ')
    for (let level = 0; name.includes('%') && level < mostEncodings; level++)
      name = percentDecoded(name) ?? name
    name = name.trim()
    const plain = name.toLowerCase()
    const base = plain.endsWith(']') ? plain.split('[', 1)[0]! : plain
    if (isKept(plain) || isKept(base)) return false
    const isWhole = wholeName.test(`-${plain.replace(/[^a-z]/g, '-')}-`)
    return isWhole || isListed(plain) || isListed(base) || isSecretName(name)
  })
}

function anyOf(patterns: readonly string[]): (plain: string) => boolean {
  const plain = patterns.map((pattern) => pattern.trim().toLowerCase())
  return (name) => plain.some((pattern) => matchesPattern(name, pattern))
}

/** The same names occur in every entry, so results are cached; attackers choose names, so the cache is bounded. */
export function byName<T>(of: (name: string) => T): (name: string) => T {
  const cache = new Map<string, T>()
  return (name) => {
    const cached = cache.get(name)
    if (cached !== undefined) return cached
    const result = of(name)
    if (cache.size === 4096) cache.clear()
    if (name.length < 100) cache.set(name, result)
    return result
  }
}
