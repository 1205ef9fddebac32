import type { Format } from '../ports/format.ts'
import { createNativeFormat } from './native.ts'
import { createRawFormat } from './raw.ts'

/** Every format by its name in the configuration. */
export const formats = {
  native: createNativeFormat,
  raw: createRawFormat,
} satisfies Record<string, () => Format>

export type FormatName = keyof typeof formats

/**
 * For each format, the formats whose lines suffice to produce its own lines again. A native line does not keep the
 * entry in the form received, which the raw format requires.
 */
export const madeAgainOf: Readonly<Record<FormatName, readonly FormatName[]>> = {
  native: ['native', 'raw'],
  raw: ['raw'],
}
