import { maxEmptyPages, maxPagesPerScan } from '../policy.ts'
import type { Cursor, PageFacts } from './page.ts'

/** Why a scan ended without reaching its end. */
export const guards = [
  'cursor_repeated',
  'cursor_cycle',
  'empty_pages',
  'cursor_missing',
  'too_many_pages',
  'page_too_large',
] as const
export type Guard = (typeof guards)[number]

/** The guard that ends a scan after a page, if one does: the listing cannot be read on, or would never end. */
export function guardOf(
  { cursor, next }: Pick<PageFacts, 'cursor' | 'next'>,
  scan: {
    readonly remembered: Cursor | null
    readonly emptyPages: number
    readonly pages: number
  },
): Guard | undefined {
  if (next === null) return 'cursor_missing'
  if (next === cursor) return 'cursor_repeated'
  if (next === scan.remembered) return 'cursor_cycle'
  if (scan.emptyPages > maxEmptyPages) return 'empty_pages'
  return scan.pages >= maxPagesPerScan ? 'too_many_pages' : undefined
}

/**
 * The one cursor by which a cycle is noticed, whatever its length: that of the latest page whose number is a power of
 * two. A scan outlives its pump, so it is in the checkpoint.
 */
export function rememberedAt(pages: number, cursor: Cursor | null, before: Cursor | null): Cursor | null {
  const isPowerOfTwo = (pages & (pages - 1)) === 0
  return isPowerOfTwo ? cursor : before
}
