import { hash } from 'node:crypto'
import type { Event } from '../../domain/event/event.ts'
import type { Format } from '../../ports/delivery.ts'
import { giveBack } from '../../transport/body.ts'
import { compressors, joinTexts, lineOf, type Text } from '../lines.ts'
import type { Settlement } from '../settle.ts'
import type { BatchLimits, Compression, Layout, Preset } from './protocol/preset.ts'

interface Cutting {
  readonly format: Format
  readonly preset: Preset
  readonly limits: BatchLimits
  /** Undefined: no event is too old. */
  readonly nowMs: number | undefined
}

type Refusing = Pick<Settlement<Piece>, 'refuse' | 'refusals'>

interface Batch {
  readonly pieces: readonly Piece[]
  /** No event more could go into it. */
  readonly isFull: boolean
}

/**
 * Cuts events into batches, in order (of each group, where a body has one) and deterministically; no batch holds an id
 * twice. Maps one batch at a time, so memory does not grow with the delivery. Events that can never be sent are refused
 * in `settled`. Only the last batch is not full: others end with what follows them.
 */
export function* cutBatches(events: readonly Event[], cutting: Cutting, settled: Refusing): Generator<Batch> {
  const { group, isOneGroup } = cutting.preset.layout
  const groupOf = (event: Event) => (isOneGroup === true ? group?.(event).before : undefined)
  const groups = [...Map.groupBy(events, groupOf).values()]
  for (const [index, own] of groups.entries())
    for (const { pieces, isFull } of cut(own, cutting, settled))
      yield { pieces, isFull: isFull || index < groups.length - 1 }
}

function* cut(events: readonly Event[], cutting: Cutting, settled: Refusing): Generator<Batch> {
  const { layout } = cutting.preset
  const { maxEvents, maxBytes } = cutting.limits
  let batch: Piece[] = []
  let ids = new Set<string>()
  let size = bodySize(layout)
  for (const event of events) {
    const piece = sendable(event, cutting, settled)
    if (piece === undefined) continue
    const isFull = batch.length >= maxEvents || size(piece) > maxBytes || ids.has(event.id)
    if (batch.length > 0 && isFull) {
      yield { pieces: batch, isFull: true }
      batch = []
      ids = new Set()
      size = bodySize(layout)
      size(piece)
    }
    ids.add(event.id)
    batch.push(piece)
  }
  if (batch.length > 0) yield { pieces: batch, isFull: batch.length >= maxEvents }
}

/** Adds a piece, and returns the size that the body has with it before compression, without building it. */
export function bodySize({ before, between, after }: Layout): (piece: Piece) => number {
  const groups = new Set<string>()
  // The first piece has no text before it.
  let size = Buffer.byteLength(before + after) - between.length
  return ({ bytes, group }) => {
    size += bytes + between.length
    if (group !== undefined && !groups.has(group.before)) {
      groups.add(group.before)
      size += Buffer.byteLength(group.before + group.after)
    }
    return size
  }
}

function sendable(
  event: Event,
  { format, preset, limits, nowMs }: Cutting,
  settled: Refusing,
): Piece | undefined {
  const { maxEventBytes = Infinity, maxAgeHours = Infinity } = limits
  const refuse = (reason: 'too_old' | 'too_large' | 'unmappable', limit: string): undefined =>
    settled.refuse(event, reason, `not sent: ${limit}`)
  const ageMs = nowMs === undefined || event.timeMs === undefined ? 0 : nowMs - event.timeMs
  if (ageMs > maxAgeHours * 3_600_000)
    return refuse('too_old', `older than batch.maxAgeHours (${maxAgeHours})`)
  if (event.timeMs === undefined && preset.needsTime === true)
    return refuse('unmappable', 'it has no time, and the destination stores none without one')
  const line = lineOf(event, format, settled.refusals)
  if (line === undefined) return undefined
  const piece = pieceOf(event, preset.piece(event, line), preset.layout)
  if (piece.bytes <= maxEventBytes) return piece
  return refuse('too_large', `${piece.bytes} bytes, more than batch.maxEventBytes (${maxEventBytes})`)
}

export interface Body {
  /** Hash of the uncompressed body: the same key means the same bytes. */
  readonly key: string
  readonly bytes: Buffer
}

/** The bytes of one request. They depend on the events and the configuration only. */
export async function packBody(
  pieces: readonly Piece[],
  { layout, wire }: Pick<Preset, 'layout' | 'wire'>,
  compression: Compression,
): Promise<Body> {
  const text = joinPieces(pieces, layout)
  const plain = wire === undefined ? text : await wire.encode(text)
  if (plain !== text) giveBack(text)
  // Begun first: the thread pool compresses while this thread hashes.
  const compressing = compression === 'none' ? plain : compressors[compression](plain)
  const key = hash('sha256', plain, 'hex')
  const bytes = await compressing
  if (bytes !== plain) giveBack(plain)
  return { key, bytes }
}

/** The body before compression; groups in the order of their first events. */
export function joinPieces(pieces: readonly Piece[], layout: Layout): Buffer {
  const { before, between, after } = layout
  if (layout.group === undefined) return joinTexts(pieces, layout)
  const groups = [...Map.groupBy(pieces, ({ group }) => group?.before).values()]
  const parts = groups.map((grouped, index) =>
    joinTexts(grouped, {
      between,
      before: (index === 0 ? before : between) + grouped[0]!.group!.before,
      after: grouped[0]!.group!.after + (index === groups.length - 1 ? after : ''),
    }),
  )
  return Buffer.concat(parts)
}

/** One event, encoded as in a body. */
export interface Piece extends Text {
  readonly event: Event
  /** The texts around its group, if bodies have groups. */
  readonly group?: { readonly before: string; readonly after: string }
}

export function pieceOf(event: Event, text: string, { group }: Layout): Piece {
  const bytes = Buffer.byteLength(text)
  return { event, text, bytes, ...(group !== undefined && { group: group(event) }) }
}
