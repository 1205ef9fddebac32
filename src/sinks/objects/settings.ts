import * as z from 'zod'
import { addIssue, bytes, choice, described, duration, patternText } from '../../fields/fields.ts'
import { TlsConfig } from '../../fields/pem-files.ts'

const Prefix = patternText(
  /^(?:(?!\.{1,2}\/)[\w.=-][\w.=@+!~ -]*\/)*$/,
  'is not a prefix',
  'end it with "/" and begin without one, such as waf/ or logs/shield/; letters, digits and _ . - = @ + ! ~ are allowed',
  'Put before the key of each object, such as waf/',
)

/** Of every sink that writes objects. */
export const objectFields = {
  prefix: Prefix.max(512).default(''),
  file: choice(['ndjson', 'parquet'], 'What an object is; a change takes effect with the next day'),
  compress: described(
    z.enum(['gzip', 'zstd']).nullable().default(null),
    'How lines are compressed; default: gzip. A change takes effect with the next day',
  ),
  everySeconds: described(
    duration('Time between two polls of a stream', { above: 0, max: 86_400 }).nullable().default(null),
    'Time between two polls of a stream; default: 300, with file: parquet 900',
  ),
  maxBytes: bytes('Lines in one object, before compression', { min: 65_536 })
    .max(1_073_741_824)
    .default(16_777_216),
  timeoutSeconds: duration('Longest time to wait for an answer', { above: 0, max: 3600 }).default(60),
  tls: described(TlsConfig.prefault({}), 'Certificates for this sink'),
}

const Fields = z.object(objectFields)

/** What the sink takes of them. */
export interface ObjectSettings extends Readonly<
  Pick<z.output<typeof Fields>, 'prefix' | 'file' | 'compress' | 'maxBytes'>
> {
  readonly name: string
  /** `at-least-once` asks for no condition, and may ship events twice; default: exactly-once. */
  readonly guarantee?: 'exactly-once' | 'at-least-once'
}

/** Time between two polls of a stream. Small Parquet objects save nothing, so they are larger. */
export function paceOf({
  everySeconds,
  file,
}: Pick<z.output<typeof Fields>, 'everySeconds' | 'file'>): number {
  return everySeconds ?? (file === 'parquet' ? 900 : 300)
}

/** Adds the errors between settings that are valid one by one. */
export function checkFile(
  {
    file,
    format,
    compress,
  }: Pick<z.output<typeof Fields>, 'file' | 'compress'> & { readonly format: string },
  context: z.RefinementCtx,
): void {
  if (file !== 'parquet') return
  const remedy =
    'file: parquet takes format native or ocsf, whose fields are columns; for other formats set file: ndjson'
  if (format !== 'native' && format !== 'ocsf')
    addIssue(context, { problem: `${format} has no columns`, remedy }, ['format'])
  const compressed = 'remove it: Parquet compresses each column by itself, with zstd'
  if (compress !== null)
    addIssue(context, { problem: 'is set with file: parquet', remedy: compressed }, ['compress'])
}
