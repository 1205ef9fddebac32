import type { Format } from '../ports/format.ts'
import { createNativeFormat } from './native.ts'
import { createRawFormat } from './raw.ts'

/** Every format by the name that the configuration uses. */
export const formats = {
  native: createNativeFormat,
  raw: createRawFormat,
} satisfies Record<string, () => Format>

export type FormatName = keyof typeof formats

/**
 * For each format, of which formats' lines its own can be made again, the same. A native line does not keep the entry
 * in the form in which it was received, which is what a raw one shows.
 */
export const madeAgainOf: Readonly<Record<FormatName, readonly FormatName[]>> = {
  native: ['native', 'raw'],
  raw: ['raw'],
}
