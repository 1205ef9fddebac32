import type { Labels } from './metric-definition.ts'

interface Head {
  readonly name: string
  readonly help: string
  readonly type: string
}

/** Pieces of text that are joined at a time: small ones that live on until the end cost the garbage collector more. */
const piecesAtOnce = 3_000

/** One metric with its series, in the text format of Prometheus. */
export class FamilyText {
  readonly #name: string
  readonly #parts: string[] = []
  #pieces: string[]

  constructor({ name, help, type }: Head) {
    this.#name = name
    const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
    this.#pieces = [`# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`]
  }

  /** `labels` as `labelText` gives them. */
  add(labels: string, value: number, suffix = ''): void {
    this.#pieces.push(this.#name, suffix, labels, ' ', valueText(value), '\n')
    if (this.#pieces.length >= piecesAtOnce) this.#join()
  }

  /** The text in parts of some 50 kB, each of whole lines. */
  text(): readonly string[] {
    this.#join()
    return this.#parts
  }

  #join(): void {
    if (this.#pieces.length === 0) return
    this.#parts.push(this.#pieces.join(''))
    this.#pieces = []
  }
}

/** Such as `{zone="101",sink="siem"}`; empty without labels. */
export function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapedValue(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapedValue(value: string): string {
  if (!/["\\\n]/.test(value)) return value
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

function valueText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}
