import * as z from 'zod'
import { bytes, duration, format, mode, name, onAnySink, path } from '../../config/fields/fields.ts'

const Rotation = z
  .strictObject({
    maxBytes: bytes('Size at which a part is closed; the next delivery opens a new one').default(268_435_456),
    maxAgeMinutes: duration('Age at which a part is closed; the next delivery opens a new one', {
      above: 0,
      max: 525_600,
    }).default(1440),
  })
  .prefault({})
  .describe('When a part is closed')

export const FileSinkConfig = z
  .strictObject({
    type: z.literal('file').describe('Kind of sink'),
    name: name('Name of the sink; a new name begins with new checkpoints').default('file'),
    format: format(),
    ...onAnySink,
    path: path('Folder of the files zone=<id>/day=<day>/<part>.ndjson'),
    mode: mode('Permissions of new files', 0o600).prefault('0600'),
    dirMode: mode('Permissions of new folders', 0o700).prefault('0700'),
    rotate: Rotation,
    compress: z.enum(['none', 'gzip', 'zstd']).default('none').describe('How closed parts are compressed'),
  })
  .describe('Files, with each event exactly once')
export type FileSinkConfig = Readonly<z.output<typeof FileSinkConfig>>

/** What the sink takes of it. Permissions apply regardless of the umask. */
export type FileSinkSettings = Pick<
  FileSinkConfig,
  'name' | 'path' | 'mode' | 'dirMode' | 'rotate' | 'compress'
>
