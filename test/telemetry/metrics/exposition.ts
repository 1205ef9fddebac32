/** A reader of the Prometheus text format 0.0.4. It throws at a malformed line; `promtool` checks the rest. */

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

/** `given`: as a server sends it, or in parts. */
export function parseExposition(given: string | readonly string[]): Map<string, Family> {
  const text = [given].flat().join('')
  if (!text.endsWith('\n')) throw new Error('no line break at the end')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let [name, help, samples]: [string, string, Sample[]] = ['', '', []]
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, about = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') [name, help] = [about, rest]
    else if (kind === 'TYPE') {
      if (about !== name || families.has(name)) throw new Error(`stray TYPE: ${line}`)
      samples = []
      families.set(name, { name, type: rest, help, samples })
    } else {
      const sample = sampleOf(line)
      if (!sample.name.startsWith(name) || seen.has(seriesKey(sample))) throw new Error(`stray: ${line}`)
      seen.add(seriesKey(sample))
      samples.push(sample)
    }
  }
  return families
}

/** The value of one series; undefined where it is absent. */
export function valueOf(
  families: Map<string, Family>,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const wanted = seriesKey({ name, labels })
  const base = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ''))
  return base?.samples.find((sample) => seriesKey(sample) === wanted)?.value
}

const number = /^(?:[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/i

function sampleOf(line: string): Sample {
  const [, name = '', labels = '', value = ''] = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? []
  if (!number.test(value)) throw new Error(`malformed line: ${JSON.stringify(line)}`)
  return { name, labels: labelsOf(labels), value: Number(value.replace('Inf', 'Infinity')) }
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  let rest = text
  while (rest !== '') {
    const match = /^([a-z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)/i.exec(rest)
    if (match === null) throw new Error(`malformed labels: ${JSON.stringify(rest)}`)
    const [whole, name = '', value = ''] = match
    labels[name] = value.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character))
    rest = rest.slice(whole.length)
  }
  return labels
}

function seriesKey({ name, labels }: Pick<Sample, 'name' | 'labels'>): string {
  return JSON.stringify([name, Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))])
}
