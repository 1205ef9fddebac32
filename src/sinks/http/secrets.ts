import { secretsIn } from '../../domain/text/secret.ts'
import { searchedBytes } from './exchanges.ts'
import type { HttpSettings } from './protocol/define-preset.ts'

/** Twice as many as requests at the same time. */
const mostMade = 20
const secretName = /auth|key|token|secret|cookie|signature|password/i

/**
 * The secrets in the settings of a sink, and what is made of them: all are read again when one is refused, and masked in
 * answers. What a preset adds to the address is not secret.
 */
export function createSecrets(settings: HttpSettings) {
  const { url = '', secretUrl, ...others } = settings
  const secrets = secretsIn(others)
  let inUrl = urlSecrets(url)
  let made: readonly string[] = []
  let generation = 0
  return {
    /** Grows whenever a secret has changed. */
    generation: () => generation,

    /** The configured headers, lower case, in plain text: never print them. */
    headers(): Readonly<Record<string, string>> {
      const headers = Object.entries(settings.headers)
      return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value.reveal()]))
    },

    /** Reads all secrets again. */
    reread(): void {
      for (const secret of secrets) if (secret.reread()) generation++
      if (secretUrl?.reread() !== true) return
      generation++
      inUrl = [...new Set([...urlSecrets(secretUrl.reveal()), ...inUrl])].slice(0, mostMade)
    },

    /**
     * Headers with credentials made of the secrets: the latest are masked, too, but a signature of AWS, whose parts are
     * names such as that of the region.
     */
    remember(credentials: Readonly<Record<string, string>>): void {
      const isSecret = ([name, value]: [string, string]) =>
        secretName.test(name) && !value.startsWith('AWS4-')
      const latest = Object.entries(credentials).filter(isSecret)
      made = [...new Set([...latest.map(([, value]) => value), ...made])].slice(0, mostMade)
    },

    /** Masks every secret in a text of the destination, and makes it one line of at most 4 KiB of UTF-8. */
    mask(text: string): string {
      const revealed = secrets.filter(({ isResolved }) => isResolved).map((secret) => secret.reveal())
      return masked(text, [...revealed, ...made, ...inUrl])
    },
  }
}

/** Queries and long path segments of intake addresses are often tokens. */
function urlSecrets(text: string): string[] {
  const url = URL.parse(text)
  if (url === null) return []
  const { pathname, search, searchParams } = url
  const values = [...searchParams.values()].filter((value) => value.length >= 6)
  return [...pathname.split('/').filter((segment) => segment.length >= 16), search, ...values]
}

/** Shortest value, and shortest part of a value, to mask; anything shorter would mask ordinary text. */
const shortestSecret = 4
const shortestPart = 6
const schemes = /^(?:apikey|basic|bearer|digest|negotiate|splunk)$/i
/** Bytes of an answer that are kept. */
const keptBytes = 4096

/** Replaces the secrets in a text of a destination, and makes it one line of at most 4 KiB of UTF-8. */
export function masked(given: string, secrets: readonly string[]): string {
  const forms = formsOf(secrets)
  // A secret cut in two at the end would not be found: drop as much as the longest may reach.
  const kept = given.length > searchedBytes ? searchedBytes - (forms[0]?.length ?? 0) : searchedBytes
  let text = given.slice(0, kept)
  for (const form of forms) text = text.replaceAll(form, '***')
  return cut(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim())
}

/** Every form in which a destination might echo a secret, the longest first. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < shortestSecret) continue
    const parts = [secret, ...secret.split(/\s+/), ...secret.split(/[\s:=,;&?/]+/), ...decoded(secret)]
    for (const part of parts) {
      if (part !== secret && (part.length < shortestPart || schemes.test(part))) continue
      forms.add(part)
      forms.add(encodeURIComponent(part.toWellFormed()))
      forms.add(JSON.stringify(part).slice(1, -1))
    }
  }
  return [...forms].sort((one, other) => other.length - one.length)
}

/** `Basic dXNlcjpwYXNz` contains a password that an answer may show in plain text. */
function decoded(secret: string): string[] {
  const encoded = /^Basic\s+([A-Za-z\d+/=]+)$/i.exec(secret)?.[1]
  if (encoded === undefined) return []
  const plain = Buffer.from(encoded, 'base64').toString()
  return [plain, plain.slice(plain.indexOf(':') + 1)]
}

function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= keptBytes) return text
  // The cut may split the last character.
  return bytes.toString('utf8', 0, keptBytes - 3).replace(/\ufffd+$/, '')
}
