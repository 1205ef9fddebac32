import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Secrets that no text may hold, each with a name that says which one leaked. */
export interface Canaries {
  /** A new secret. `plain`: letters, digits and dashes only. Otherwise with characters that need escaping in a URL or in JSON. */
  make(name: string, plain?: boolean): string
  /** A secret that was made elsewhere. */
  add(name: string, secret: string): string
  /** Where which secret shows, in whatever form, with a piece of what stands around it. */
  leaks(places: ReadonlyMap<string, string | Buffer>): string[]
}

export function createCanaries(): Canaries {
  const forms = new Map<string, string>()
  const add = (name: string, secret: string): string => {
    for (const form of formsOf(secret)) forms.set(form, name)
    return secret
  }
  return {
    add,
    make: (name, plain = false) =>
      add(
        name,
        `canary-${name.replaceAll(' ', '-')}-${randomBytes(9).toString('hex')}${plain ? '' : `/+"\\'&=%`}`,
      ),
    leaks(places) {
      const found: string[] = []
      for (const [place, content] of places) {
        // One character a byte, so that what is no text is searched too.
        const text = typeof content === 'string' ? content : content.toString('latin1')
        for (const [form, name] of forms) {
          const at = text.indexOf(form)
          if (at >= 0)
            found.push(`${name} in ${place}: …${text.slice(Math.max(0, at - 80), at + form.length + 20)}…`)
        }
      }
      return found
    },
  }
}

/** As it is, as JSON, URLs and base64 have it, and in UTF-16. */
function formsOf(secret: string): Set<string> {
  const bytes = Buffer.from(secret)
  // In the middle of other text, base64 shows it in one of three ways; the characters at its ends depend on what is there.
  const encoded = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    return text.slice(before === 0 ? 0 : 4, -2)
  })
  return new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    Buffer.from(secret, 'utf16le').toString('latin1'),
    ...encoded,
    ...encoded.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ])
}

/** Every file below a folder by its path, but for those whose name is given. */
export function filesBelow(folder: string, without: readonly string[]): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || without.includes(entry.name)) continue
    const path = join(entry.parentPath, entry.name)
    files.set(path, readFileSync(path))
  }
  return files
}
