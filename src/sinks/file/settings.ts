import type { open } from 'node:fs/promises'
import type { Format } from '../../ports/delivery.ts'
import type { Clock, Telemetry } from '../../ports/process.ts'

export interface FileSinkSettings {
  readonly name: string
  /** Folder that holds the zones; created when it is missing. */
  readonly path: string
  /** Permission bits of files and folders, applied regardless of the umask. */
  readonly mode: number
  readonly dirMode: number
  readonly rotate: { readonly maxBytes: number; readonly maxAgeMinutes: number }
  /** Compression of closed parts. */
  readonly compress: 'none' | 'gzip' | 'zstd'
}

export interface FileSinkDeps {
  readonly format: Format
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** Opens the parts for writing; tests replace it to simulate disks that fail or hang. */
  readonly openFile?: typeof open
}

/** True for a part that takes no further delivery. All processes agree, so it may be compressed. */
export function isFull(
  settings: FileSinkSettings,
  { bytes, openedAtMs }: { readonly bytes: number; readonly openedAtMs: number },
  nowMs: number,
): boolean {
  return bytes >= settings.rotate.maxBytes || nowMs >= fullAt(settings, openedAtMs)
}

/** Time at which a part is closed by its age. */
export function fullAt(settings: FileSinkSettings, openedAtMs: number): number {
  return openedAtMs + settings.rotate.maxAgeMinutes * 60_000
}
