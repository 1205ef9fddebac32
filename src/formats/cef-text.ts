/** The text form of CEF: what is escaped where, and how a line is read back. Version 26 of its specification. */

/** Characters that end or forge a line for some reader, and have no escape in CEF. */
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

/** At most `length` characters, whole ones. */
export function cutTo(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
}

export function headerText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(controls, ' ')
    .replaceAll(/[\\|]/g, String.raw`\$&`)
}

/** What `extensionText` replaces. */
// oxlint-disable-next-line no-control-regex
const special = /[\\=\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]/

/** Looks first: nearly no value holds anything to replace. */
export function extensionText(text: string): string {
  if (!special.test(text)) return text
  return text
    .toWellFormed()
    .replaceAll(/[\\=]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll(controls, ' ')
}

/** The fields of the extension of a line by key; undefined where it is not one of this vendor and product. */
export function readExtension(line: string, start: string): Map<string, string> | undefined {
  if (!line.startsWith(start)) return undefined
  const header = /^(?:(?:[^\\|]|\\.)*\|){4}/.exec(line.slice(start.length))
  if (header === null) return undefined
  const fields = new Map<string, string>()
  const text = line.slice(start.length + header[0].length)
  for (const [, key = '', value = ''] of text.matchAll(/(?:^| )(\w+)=((?:[^\\=]|\\.)*?)(?= \w+=|$)/gs))
    fields.set(key, unescaped(value))
  return fields
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/gs, (_, escaped: string) => {
    if (escaped === 'n') return '\n'
    return escaped === 'r' ? '\r' : escaped
  })
}
