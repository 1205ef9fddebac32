import type { open } from 'node:fs/promises'
import type { Clock, Format, Telemetry } from '../../ports.ts'
import type { Happening } from '../../domain/happening.ts'
import type { Compressor } from './compressor.ts'
import type { HeldIdentity, Owner } from './identity.ts'
import type { DeliveryNotes } from './delivery-notes.ts'

export interface FileSinkSettings {
  readonly name: string
  /** Folder that holds the zones; made when it is missing. */
  readonly path: string
  /** Permission bits of files and folders, applied whatever the umask is. */
  readonly mode: number
  readonly dirMode: number
  readonly rotate: { readonly maxBytes: number; readonly maxAgeMinutes: number }
  /** What closed parts become. */
  readonly compress: 'none' | 'gzip' | 'zstd'
}

export interface FileSinkDeps {
  readonly format: Format
  readonly clock: Clock
  readonly telemetry: Telemetry
  /** Opens the parts that are written; the one seam for disks that fail or hang. */
  readonly openFile?: typeof open
}

/** One store's writer on one path: made at the first stream that is opened for it, released when the sink closes. */
export interface Writer {
  readonly settings: FileSinkSettings
  readonly format: Format
  readonly clock: Clock
  readonly openFile: typeof open
  readonly root: string
  /** What the sink keeps for itself below the root. */
  readonly ownFolder: string
  readonly store: string
  readonly identity: HeldIdentity
  readonly notes: DeliveryNotes
  readonly compressor: Compressor
  /** The right to change a writer's parts, held until it is released; undefined while that writer lives elsewhere. */
  hold(id: string): HeldIdentity | undefined
  ownerOf(id: string): Owner | undefined
  emit(happening: Happening): void
  /** Says a lasting condition once in the life of the process. */
  emitOnce(about: string, happening: Happening): void
}

/** True for a part that takes no further delivery; the same for every process, so that it may be compressed. */
export function isFull(
  settings: FileSinkSettings,
  bytes: number,
  openedAtMs: number,
  nowMs: number,
): boolean {
  return bytes >= settings.rotate.maxBytes || nowMs >= fullAt(settings, openedAtMs)
}

/** When a part is closed for its age alone. */
export function fullAt(settings: FileSinkSettings, openedAtMs: number): number {
  return openedAtMs + settings.rotate.maxAgeMinutes * 60_000
}
