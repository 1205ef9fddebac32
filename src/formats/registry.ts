import type { Format } from '../ports.ts'
import { createNativeFormat } from './native.ts'
import { createRawFormat } from './raw.ts'

/** Every format by the name that the configuration uses. */
export const formats = {
  native: createNativeFormat,
  raw: createRawFormat,
} satisfies Record<string, () => Format>

export type FormatName = keyof typeof formats
