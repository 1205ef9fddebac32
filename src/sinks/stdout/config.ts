import * as z from 'zod'
import { format, name, onAnySink } from '../../fields/fields.ts'

export const StdoutSinkConfig = z
  .strictObject({
    type: z.literal('stdout').describe('Kind of sink'),
    name: name('Name of the sink; a new name begins with new checkpoints').default('stdout'),
    format: format(),
    ...onAnySink,
  })
  .describe('One event a line on standard output')
export type StdoutSinkConfig = Readonly<z.output<typeof StdoutSinkConfig>>
