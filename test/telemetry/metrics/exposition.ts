/** A strict reader of the Prometheus text format 0.0.4: throws at the first line that is not exactly right. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: Sample[]
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const number = /^(?:[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/i

function numberOf(text: string): number {
  if (!number.test(text)) throw new Error(`no number: ${JSON.stringify(text)}`)
  if (text.endsWith('Inf')) return text.startsWith('-') ? -Infinity : Infinity
  return Number(text)
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  let rest = text
  while (rest !== '') {
    const match = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,(?=.)|$)/.exec(rest)
    if (match === null) throw new Error(`malformed labels: ${JSON.stringify(rest)}`)
    const [whole, name, value] = match
    if (labels[name!] !== undefined) throw new Error(`label ${name} twice`)
    labels[name!] = value!.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))
    rest = rest.slice(whole.length)
  }
  return labels
}

function sampleOf(line: string): Sample {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
  if (match === null) throw new Error(`malformed line: ${JSON.stringify(line)}`)
  return { name: match[1]!, labels: labelsOf(match[2] ?? ''), value: numberOf(match[3]!) }
}

function belongs(sample: Sample, family: Family): boolean {
  if (sample.name === family.name) return family.type !== 'histogram'
  const suffix = sample.name.startsWith(family.name) ? sample.name.slice(family.name.length) : ''
  return family.type === 'histogram' && ['_bucket', '_sum', '_count'].includes(suffix)
}

function seriesKey({ name, labels }: Sample): string {
  return JSON.stringify([name, Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))])
}

function checkHistogram({ name, type, samples }: Family): void {
  if (type !== 'histogram') return
  const counts = new Map<string, { last: number; inf?: number; count?: number }>()
  for (const { name: sampleName, labels, value } of samples) {
    const { le, ...others } = labels
    const key = JSON.stringify(others)
    const entry = counts.get(key) ?? { last: 0 }
    counts.set(key, entry)
    if (sampleName.endsWith('_count')) entry.count = value
    if (!sampleName.endsWith('_bucket')) continue
    if (value < entry.last) throw new Error(`${name}: buckets do not grow`)
    entry.last = value
    if (le === '+Inf') entry.inf = value
  }
  for (const { inf, count } of counts.values())
    if (inf === undefined || inf !== count) throw new Error(`${name}: +Inf and count differ`)
}

/** `given`: as a server sends it, or in parts. */
export function parseExposition(given: string | readonly string[]): Map<string, Family> {
  const text = [given].flat().join('')
  if (!text.endsWith('\n')) throw new Error('no line break at the end')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let help: [string, string] | undefined
  let family: Family | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (comment !== null) {
      const [, kind, name, rest] = comment
      if (!metricName.test(name!)) throw new Error(`bad name ${name}`)
      if (kind === 'HELP') {
        if (help !== undefined) throw new Error(`HELP of ${help[0]} without TYPE`)
        help = [name!, rest!]
        continue
      }
      if (help === undefined || help[0] !== name) throw new Error(`TYPE of ${name} without HELP`)
      if (families.has(name)) throw new Error(`${name} twice`)
      if (!['counter', 'gauge', 'histogram', 'summary'].includes(rest!)) throw new Error(`type ${rest}`)
      family = { name, type: rest!, help: help[1], samples: [] }
      families.set(name, family)
      help = undefined
      continue
    }
    const sample = sampleOf(line)
    if (family === undefined || !belongs(sample, family)) throw new Error(`stray sample: ${line}`)
    if (seen.has(seriesKey(sample))) throw new Error(`series twice: ${line}`)
    seen.add(seriesKey(sample))
    family.samples.push(sample)
  }
  for (const one of families.values()) checkHistogram(one)
  return families
}

/** The value of one series; undefined where it is absent. */
export function valueOf(
  families: Map<string, Family>,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const wanted = seriesKey({ name, labels, value: 0 })
  const base = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ''))
  return base?.samples.find((sample) => seriesKey(sample) === wanted)?.value
}
