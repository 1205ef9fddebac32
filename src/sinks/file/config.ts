import * as z from 'zod'
import {
  bytes,
  count,
  described,
  duration,
  format,
  mode,
  name,
  onAnySink,
  path,
  section,
} from '../../fields/fields.ts'

const Rotation = z
  .strictObject({
    maxBytes: bytes('Size at which a part is closed').default(268_435_456),
    maxAgeMinutes: duration('Age at which a part is closed', { above: 0, max: 525_600 }).default(1440),
  })
  .prefault({})
  .describe('When a part is closed; the next delivery opens a new one')

const Retention = section('When days are removed: whole days, the oldest first', {
  days: described(
    count('Days after the end of a day', { max: 36_500 }).nullable().default(null),
    'Days that a day is kept after its end; null for ever',
  ),
  maxBytes: described(
    bytes('Size').nullable().default(null),
    'Size of all files together above which the oldest days are removed, in bytes; null for no limit',
  ),
})

export const FileSinkConfig = z
  .strictObject({
    type: z.literal('file').describe('Kind of sink'),
    name: name('Name of the sink; a new name begins with new checkpoints').default('file'),
    format: format(),
    ...onAnySink,
    path: path('Folder of the files shield_zone=<id>/day=<day>/<part>.ndjson'),
    mode: mode('Permissions of new files', 0o600).prefault('0600'),
    dirMode: mode('Permissions of new folders', 0o700).prefault('0700'),
    rotate: Rotation,
    retention: Retention,
    compress: z.enum(['none', 'gzip', 'zstd']).default('none').describe('How closed parts are compressed'),
  })
  .describe('Files, with each event exactly once')
export type FileSinkConfig = Readonly<z.output<typeof FileSinkConfig>>

/** What the sink takes of it. Permissions apply regardless of the umask. */
export type FileSinkSettings = Omit<FileSinkConfig, 'type' | 'format' | keyof typeof onAnySink>
