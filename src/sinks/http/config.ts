import * as z from 'zod'
import { presets } from './presets/registry.ts'

type SchemasOf<Presets extends readonly { readonly schema: unknown }[]> = {
  readonly [At in keyof Presets]: Presets[At]['schema']
}
const schemas: readonly unknown[] = presets.map(({ schema }) => schema)

/** One branch per preset. */
export const HttpSinkConfig = z.discriminatedUnion('preset', schemas as SchemasOf<typeof presets>)
export type HttpSinkConfig = Readonly<z.output<typeof HttpSinkConfig>>
