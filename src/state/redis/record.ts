import type { Checkpoint } from '../../domain/checkpoint.ts'
import type { Stream } from '../../domain/stream.ts'
import { readCheckpoint } from './checkpoint-text.ts'

/** The first line of a stream's record, written and read by the scripts too. */
export interface Head {
  /** 16 digits, so that fences compare as text too. */
  readonly fence: string
  readonly commit: number
  readonly hash: string | undefined
  readonly schedule: boolean
  readonly endedAtMs: number | undefined
  /** Name of the sink when the stream was taken or renamed last. */
  readonly sink: string
  readonly holder: string | undefined
}

const fenceDigits = 16
/** Longer than any head whose holder has an id of a reasonable length. */
export const headBytes = 512
const lineBreak = 10

export function readHead(record: Uint8Array): Head {
  const line = record.indexOf(lineBreak)
  const text = Buffer.from(record.subarray(0, line < 0 ? record.byteLength : line)).toString()
  const found = /^(\d+) (\d+) (\S+) (\d) (\S+) (\S+) (.*)$/s.exec(text)
  if (found === null) throw new Error('the record of a stream is damaged')
  const [, fence = '', commit, hash, schedule, ended, sink = '', holder] = found
  return {
    fence,
    commit: Number(commit),
    hash: hash === '-' ? undefined : hash,
    schedule: schedule === '1',
    endedAtMs: ended === '-' ? undefined : Number(ended),
    sink,
    holder: holder === '' ? undefined : holder,
  }
}

/** Undefined for a stream that was taken and never committed to. */
export function checkpointIn(record: Uint8Array, stream: Stream): Checkpoint | undefined {
  return readCheckpoint(record.subarray(record.indexOf(lineBreak) + 1), stream)
}

/** A fence as it stands in the record. */
export function fenceText(fence: number): string {
  return String(fence).padStart(fenceDigits, '0')
}
