import { Counter, Gauge, type Registry } from 'prom-client'

/** How many series are written before the event loop may turn. */
const seriesAtOnce = 500

/** The library gives some labels of its own numbers. */
type Labels = Readonly<Record<string, string | number>>

/** One metric with its series, in the text format of Prometheus. */
export class FamilyText {
  readonly #lines: string[]
  readonly #name: string

  constructor({ name, help, type }: { readonly name: string; readonly help: string; readonly type: string }) {
    this.#name = name
    const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
    this.#lines = [`# HELP ${name} ${escaped}`, `# TYPE ${name} ${type}`]
  }

  /** `labels` as `labelText` gives them. */
  add(labels: string, value: number): void {
    this.#lines.push(`${this.#name}${labels} ${valueText(value)}`)
  }

  text(): string {
    return this.#lines.join('\n')
  }
}

/**
 * Texts of metrics that have not changed since they were written. Most series of a large fleet do not change from one
 * scrape to the next.
 */
export class WrittenTexts {
  readonly #kept: ReadonlySet<string>
  readonly #texts = new Map<string, string>()
  /** Metrics that are being written; one that changes meanwhile is not kept. */
  readonly #writing = new Set<string>()

  /** `kept`: metrics for which `changed` is called at every change. */
  constructor(kept: ReadonlySet<string>) {
    this.#kept = kept
  }

  changed(metric: string): void {
    this.#texts.delete(metric)
    this.#writing.delete(metric)
  }

  /** The text that is kept, or what `write` gives. */
  async of(metric: string, write: () => Promise<string>): Promise<string> {
    const known = this.#texts.get(metric)
    if (known !== undefined) return known
    if (this.#kept.has(metric)) this.#writing.add(metric)
    const text = await write()
    if (this.#writing.delete(metric)) this.#texts.set(metric, text)
    return text
  }
}

/**
 * The text of each metric of a registry. The library writes all series of a metric in
 * one go: of 5,000 zones that holds the event loop for a second.
 */
export async function registryTexts(
  registry: Registry,
  written: WrittenTexts,
  letTurn: () => Promise<void>,
): Promise<string[]> {
  const texts: string[] = []
  for (const metric of registry.getMetricsAsArray()) {
    const write = async () =>
      isPlain(metric) ? await plainText(metric, letTurn) : await registry.getSingleMetricAsString(metric.name)
    texts.push(await written.of(metric.name, write))
    await letTurn()
  }
  return texts
}

/** What the library calls a metric here is the metric itself. */
function isPlain(metric: unknown): metric is Counter | Gauge {
  return metric instanceof Counter || metric instanceof Gauge
}

async function plainText(metric: Counter | Gauge, letTurn: () => Promise<void>): Promise<string> {
  const { name, help, type, values } = await metric.get()
  const family = new FamilyText({ name, help, type: String(type) })
  for (const [index, { labels, value }] of values.entries()) {
    family.add(knownLabelText(labels as Labels), value)
    if (index % seriesAtOnce === seriesAtOnce - 1) await letTurn()
  }
  return family.text()
}

/** The library keeps the labels of a series for as long as the series. */
const known = new WeakMap<Labels, string>()

function knownLabelText(labels: Labels): string {
  let text = known.get(labels)
  if (text === undefined) {
    text = labelText(labels)
    known.set(labels, text)
  }
  return text
}

/** Such as `{zone="101",sink="siem"}`; empty without labels. */
export function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapedValue(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapedValue(value: string | number): string {
  const text = String(value)
  if (!/["\\\n]/.test(text)) return text
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

function valueText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}
