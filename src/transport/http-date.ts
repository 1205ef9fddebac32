const months = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec'
const time = String.raw`\d{2}:\d{2}:\d{2}`
const preferred = new RegExp(String.raw`^[A-Z][a-z]{2}, \d{2} (?:${months}) \d{4} ${time} GMT$`)
const rfc850 = new RegExp(String.raw`^[A-Z][a-z]+, \d{2}-(?:${months})-\d{2} ${time} GMT$`)
const asctime = new RegExp(String.raw`^[A-Z][a-z]{2} (?:${months}) [ \d]\d ${time} \d{4}$`)

/** Parses the three forms of an HTTP date to ms since the epoch; undefined for anything else. */
export function httpDateOf(header: string | undefined): number | undefined {
  const text = header?.trim()
  if (text === undefined) return undefined
  if (preferred.test(text) || rfc850.test(text)) return instantOf(text)
  // This form has no zone; without the suffix it would be parsed in the host's zone.
  if (asctime.test(text)) return instantOf(`${text} GMT`)
  return undefined
}

function instantOf(text: string): number | undefined {
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : atMs
}
