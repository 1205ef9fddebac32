import * as z from 'zod'
import type { HttpSettings } from './protocol/define-preset.ts'
import { presets } from './presets/registry.ts'

type Schema = (typeof presets)[number]['schema']
const [first, ...others] = presets.map(({ schema }) => schema)

/** One branch per preset. */
export const HttpSinkConfig = z.discriminatedUnion('preset', [first, ...others] as [Schema, ...Schema[]])
export type HttpSinkConfig = HttpSettings
