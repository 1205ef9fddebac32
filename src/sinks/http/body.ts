import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import type { Piece, Preset } from './presets/preset.ts'

export type Compression = 'none' | 'gzip' | 'zstd'

export interface Body {
  /** Hash of the uncompressed body: the same key means the same bytes. */
  readonly key: string
  readonly bytes: Buffer
  /** Size before compression. */
  readonly plainBytes: number
}

const gzipAsync = promisify(gzip)
const zstdAsync = promisify(zstdCompress)

/**
 * The lowest levels. A body of 0.93 MB of native lines: gzip 1 gives 95 kB in 3.4 ms, gzip 6 79 kB in 6.4 ms, zstd 1 83
 * kB in 1.5 ms, zstd 3 88 kB in 2.4 ms.
 */
const compressors = {
  none: (bytes: Buffer) => Promise.resolve(bytes),
  gzip: (bytes: Buffer) => gzipAsync(bytes, { level: 1 }),
  zstd: (bytes: Buffer) => zstdAsync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
} satisfies Record<Compression, (bytes: Buffer) => Promise<Buffer>>

/** The bytes of one request. They depend on the events and the configuration only. */
export async function packBody(
  pieces: readonly Piece[],
  preset: Preset,
  compression: Compression,
): Promise<Body> {
  const plain = preset.body(pieces)
  const bytes = await compressors[compression](plain)
  return { key: hash('sha256', plain, 'hex'), bytes, plainBytes: plain.length }
}
