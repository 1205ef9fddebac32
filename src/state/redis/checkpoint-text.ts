import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Stream } from '../../domain/stream.ts'

/**
 * What checkpoints have in common: left out of each of them, which makes a quiet one 300 bytes of 900. Never to be
 * changed: what was written with it is read with it. Another one needs another `form`.
 */
const dictionary = Buffer.from(
  '"unreadable","oversized","retry","wait","refuse","stop","throttled","timeout","network","server_error",' +
    '"trouble":{"kind":"retry","code":"network","message":"","count":1,"sinceMs":17950,"retryAtMs":17950},' +
    '"ended":{"as":"expired","atMs":17950},"ended":{"as":"closed","atMs":17950},"needsFull":true,' +
    '"wish":"","order":"newest-first","order":"none","restarts":0,"cursorProven":true,' +
    '"full":{"kind":"full","beganAtMs":17950,"cursor":"","fromStoredCursor":true,"pages":0,"emptyPages":0,' +
    '"tookMs":0,"remembered":null,"overlapStartMs":null,"newestAtBeginMs":null,"found":0,"foundAtTail":0,' +
    '"foundAtHead":0,"missed":0,"markMet":false,"pastHead":false,"head":["},"partial":{"kind":"partial",' +
    '"storedCursors":[{"cursor":"","newestMs":17950},{"cursor":"ey","oldestOnPageMs":17950,' +
    '{"commit":1,"createdAtMs":17950,"trust":{"order":"oldest-first","cursorProven":false,"withdrawals":0},' +
    '"storedCursors":[],"mark":["","newSinceFull":0,"pollPagesSinceFull":0,"settleRepeats":0,"restarts":0,' +
    '"counters":{"pages":0,"events":0,"delivered":0,"duplicates":0,"late":0,"deadLetters":0},' +
    '"receipts":[{"writer":"","part":"0001-.ndjson","bytes":0,"lines":0}],"receipts":[],"needsFull":false,' +
    '"lastFull":{"beganAtMs":17950,"endedAtMs":17950,"tookMs":0,"pages":1,"found":0,"newestAtBeginMs":17950},' +
    '"lastPartial":{"beganAtMs":17950,"endedAtMs":17950,"tookMs":0,"pages":1,"found":0,"newestAtBeginMs":17950},' +
    '"caughtUpAtMs":17950,"newestMs":17950,"lastCommitAtMs":17950',
)

/** The first byte of the text, which says how the rest is written. */
const form = 1

/** A window of 4 KiB: what it is allocated for is small, and one is made for each call. */
const options = { dictionary, windowBits: 12 }

/** The text leaves the stream out, so that a renamed sink has no second place to be renamed in. */
export function writeCheckpoint(checkpoint: Checkpoint): Uint8Array {
  const { stream: _, ...body } = checkpoint
  const packed = deflateRawSync(JSON.stringify(body), { ...options, memLevel: 5 })
  return Buffer.concat([Buffer.of(form), packed])
}

/** Undefined for a stream that has no checkpoint yet. */
export function readCheckpoint(text: Uint8Array, { zone, day, sink }: Stream): Checkpoint | undefined {
  if (text.byteLength === 0) return undefined
  if (text[0] !== form)
    throw new Error(`a checkpoint is written in form ${text[0]}, and this version knows ${form}`)
  const body = JSON.parse(inflateRawSync(text.subarray(1), options).toString()) as Omit<Checkpoint, 'stream'>
  return { stream: { zone, day, sink }, ...body }
}
