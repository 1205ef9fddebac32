/** Shortest value, and shortest part of a value, to mask; anything shorter would mask ordinary text. */
const shortestSecret = 4
const shortestPart = 6
const schemes = /^(?:apikey|basic|bearer|digest|negotiate|splunk)$/i
/** Bytes of an answer that are kept. */
const keptBytes = 4096
/** Bytes of an answer that are searched. */
const readBytes = 65_536

/** Every form in which a destination might echo a secret, the longest first. */
export function formsOf(secrets: readonly string[]): string[] {
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

/** The readable beginning of an answer: secrets masked, one line, at most 4 KiB of UTF-8. */
export function maskAnswer(body: Buffer, forms: readonly string[]): string {
  return mask(body.toString('utf8', 0, readBytes), body.length > readBytes, forms)
}

/** The same for a text that a preset took from an answer. */
export function maskText(text: string, forms: readonly string[]): string {
  return mask(text.slice(0, readBytes), text.length > readBytes, forms)
}

function mask(beginning: string, isCut: boolean, forms: readonly string[]): string {
  // A secret cut in two at the end would not be found: drop as much as the longest may reach.
  let text = isCut ? beginning.slice(0, -(forms[0]?.length ?? 0) || undefined) : beginning
  for (const form of forms) text = text.replaceAll(form, '***')
  return cut(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim())
}

function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= keptBytes) return text
  // The cut may split the last character.
  return bytes.toString('utf8', 0, keptBytes - 3).replace(/\ufffd+$/, '')
}
