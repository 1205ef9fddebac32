import type { Event } from '../domain/event/event.ts'
import type { Format, Table } from '../ports/delivery.ts'
import { createCefFormat } from './cef.ts'
import { createEcsFormat } from './ecs.ts'
import type { Constants, Wanted } from './line.ts'
import { createNativeFormat } from './native.ts'
import { createOcsfFormat } from './ocsf.ts'
import { createOtlpFormat } from './otlp.ts'
import { createRawFormat } from './raw.ts'

/** Every format by its name in the configuration. Without `include`, lines contain what the format includes by default. */
export const formats = {
  native: createNativeFormat,
  raw: createRawFormat,
  ecs: createEcsFormat,
  ocsf: createOcsfFormat,
  otlp: createOtlpFormat,
  cef: createCefFormat,
} satisfies Record<string, (wanted?: Wanted, set?: Constants) => Format>

export type FormatName = keyof typeof formats

/** A format and what its lines include in addition to their fields. */
export interface LineForm {
  readonly format: FormatName
  readonly include?: Wanted | undefined
  readonly set?: Constants | undefined
  /** The preset of a sink of type http. */
  readonly preset?: string | undefined
}

const names = Object.keys(formats) as readonly FormatName[]

/** Creates the format of a sink. */
export function createFormat(form: LineForm): Format {
  const [included, set] = [includedIn(form), setOfLines(form)]
  const format = formats[form.format](included, set)
  return { ...format, table: format.table ?? createNativeFormat(included, set).table! }
}

/** The columns of an object that was written with this layout; undefined for one that is not known. */
export function tableFor(layout: string): Table | undefined {
  const tables = [createNativeFormat().table!, createOcsfFormat().table!]
  return tables.find((table) => table.layout === layout)
}

/** Sinks with the same key have the same lines. */
export function keyOfLines(form: LineForm): string {
  return JSON.stringify([form.format, includedIn(form), setOfLines(form)])
}

/**
 * An index gives each member of labels and log the type of its first value, and refuses others. The format native repeats
 * all that it knows of them in its fields.
 */
function includedIn({ format, include, preset }: LineForm): Wanted | undefined {
  if (preset !== 'elasticsearch' || format !== 'native') return include
  const { labels = false, log = false } = include ?? {}
  return { ...include, labels, log, other: labels || log }
}

/** These presets have a place for constants beside the line: labels, tags, attributes of the resource. */
const besideLines: readonly unknown[] = ['loki', 'datadog', 'otlp']

function setOfLines({ set, preset }: LineForm): Constants | undefined {
  return besideLines.includes(preset) ? undefined : set
}

/**
 * The formats whose lines can be produced again from lines of this form. The raw format needs the whole entry. The
 * other formats need labels and log, from which their `raw` part is built again.
 */
export function servedBy({ format, include = {} }: LineForm): readonly FormatName[] {
  const { labels = true, log = true, raw = false } = include
  if (format === 'native' && raw) return names
  if ((format !== 'native' && format !== 'raw') || !labels || !log) return []
  return format === 'raw' ? names : names.filter((name) => name !== 'raw')
}

/**
 * A format for so many sinks, which get the same events of shared pages: the first makes the line of an event. It is kept
 * until the last has taken it, and no longer than the event.
 */
export function encodeOnce(format: Format, sinks: number): Format {
  if (sinks < 2) return format
  const kept = new WeakMap<Event, { readonly line: string; left: number }>()
  return {
    ...format,
    encode(event) {
      const encoded = kept.get(event)
      if (encoded === undefined) {
        const line = format.encode(event)
        kept.set(event, { line, left: sinks - 1 })
        return line
      }
      if (--encoded.left === 0) kept.delete(event)
      return encoded.line
    },
  }
}
