import * as z from 'zod'
import { bytes, choice, described, duration, patternText } from '../../config/fields/fields.ts'
import { TlsConfig } from '../../config/fields/tls.ts'

const Prefix = patternText(
  /^(?:(?!\.{1,2}\/)[\w.=-][\w.=@+!~ -]*\/)*$/,
  'is not a prefix',
  'end it with "/" and begin without one, such as waf/ or logs/shield/; letters, digits and _ . - = @ + ! ~ are allowed',
  'Put before the key of each object, such as waf/',
)

/** Of every sink that writes objects. */
export const objectFields = {
  prefix: Prefix.max(512).default(''),
  compress: choice(['gzip', 'zstd'], 'How objects are compressed; a change takes effect with the next day'),
  everySeconds: duration('Time between two polls of a stream', { above: 0, max: 86_400 }).default(300),
  maxBytes: bytes('Lines in one object, before compression', { min: 65_536 })
    .max(1_073_741_824)
    .default(16_777_216),
  timeoutSeconds: duration('Longest time to wait for an answer', { above: 0, max: 3600 }).default(60),
  tls: described(TlsConfig.prefault({}), 'Certificates for this sink'),
}

const Fields = z.object(objectFields)

/** What the sink takes of them. */
export interface ObjectSettings extends Readonly<
  Pick<z.output<typeof Fields>, 'prefix' | 'compress' | 'maxBytes'>
> {
  readonly name: string
  /** `at-least-once` asks for no condition, and may ship events twice. */
  readonly guarantee: 'exactly-once' | 'at-least-once'
}
