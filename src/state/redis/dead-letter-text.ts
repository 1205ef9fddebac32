import type { DeadLetter, RefusalReason } from '../../domain/delivery.ts'
import type { Identity } from '../../domain/event.ts'
import type { Stream } from '../../domain/stream.ts'
import type { Argument } from './link.ts'

export type LetterKey = Pick<DeadLetter, 'zone' | 'day' | 'sink' | 'id' | 'time'>

/** What of a letter its stream already says is left out, so that it follows a renamed sink. */
type Foreign = readonly [zone: number, day: string, sink: string]

/** Names the letter among those that its stream keeps. */
export function letterField(letter: LetterKey, stream: Stream): string {
  return JSON.stringify([letter.id, letter.time ?? '', ...(foreignOf(letter, stream) ?? [])])
}

function foreignOf({ zone, day, sink }: LetterKey, stream: Stream): Foreign | undefined {
  if (zone === stream.zone && day === stream.day && sink === stream.sink) return undefined
  return [zone, day, sink]
}

/** A letter as the script of a commit takes it: field, group, bytes, text. */
export function letterArguments(letter: DeadLetter, stream: Stream): Argument[] {
  const { reason, answer, at, event } = letter
  const foreign = foreignOf(letter, stream)
  const group = foreign === undefined ? reason : `${reason} ${foreign[2]}`
  return [
    letterField(letter, stream),
    group,
    letterBytes(letter),
    JSON.stringify([reason, answer, at, event]),
  ]
}

/** The measure of the limit. */
export function letterBytes({ id, answer, event }: DeadLetter): number {
  return Buffer.byteLength(JSON.stringify(id)) + Buffer.byteLength(answer) + Buffer.byteLength(event)
}

/** `text` is what the script keeps: size, group, a line break and the letter. */
export function readLetter(field: string, text: string, stream: Stream): DeadLetter {
  const [id, time, ...foreign] = JSON.parse(field) as [string, string, ...([] | [number, string, string])]
  const [zone = stream.zone, day = stream.day, sink = stream.sink] = foreign
  const letter = text.slice(text.indexOf('\n') + 1)
  const [reason, answer, at, event] = JSON.parse(letter) as [RefusalReason, string, number, string]
  return { zone, day, sink, id, ...(time === '' ? {} : { time }), reason, answer, at, event }
}

/** Whose letter a field names. */
export function readKey(field: string): Identity {
  const [id, time] = JSON.parse(field) as [string, string]
  return { id, ...(time === '' ? {} : { time }) }
}

export function groupOf(
  group: string,
  stream: Stream,
): { readonly sink: string; readonly reason: RefusalReason } {
  const [reason = '', sink = stream.sink] = group.split(' ')
  return { sink, reason: reason as RefusalReason }
}
