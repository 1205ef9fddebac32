import type { Adopted } from '../../domain/delivery.ts'
import type { OpenOptions } from '../../ports.ts'
import { arrange, clearStaging, isStagingWhole, stagingOf } from './arrange.ts'
import type { Place } from './part.ts'
import { recover } from './recover.ts'
import type { Writer } from './settings.ts'
import { createStreamWriter, type StreamWriter } from './stream-writer.ts'

/** What writes into the parts of one stream: those that readers see, and those that wait to take their place. */
export interface OpenWriters {
  readonly visible: StreamWriter
  readonly staging?: StagingWriter
  readonly adopted?: Adopted
  /** Takes the stream away: another pump has it. */
  revoke(): void
  close(): Promise<void>
}

export interface StagingWriter {
  readonly isWhole: boolean
  readonly writer: StreamWriter
  discard(): Promise<void>
}

/** Brings the parts to their places and back to their receipts, and gives what writes on. */
export async function openWriters(
  writer: Writer,
  place: Place,
  taken: OpenOptions,
  signal: AbortSignal,
): Promise<OpenWriters> {
  await arrange(writer, place, taken)
  const { start, adopted } = await recover(writer, place, taken, signal)
  const { staged } = taken
  const numbers = { next: start.nextNumber }
  const visible = createStreamWriter(writer, place, start, numbers)
  const rest = adopted === undefined ? {} : { adopted }
  if (staged === undefined) return { visible, ...rest, revoke: visible.revoke, close: visible.close }

  // A day that is being shipped again is read again: what was not committed comes once more, whatever its age.
  const hidden = { ...taken, receipts: staged, readable: true, closed: [], aside: [] }
  const recovered = await recover(writer, stagingOf(place), hidden, signal)
  numbers.next = Math.max(numbers.next, recovered.start.nextNumber)
  const staging = createStreamWriter(writer, stagingOf(place), recovered.start, numbers)
  return {
    visible,
    ...rest,
    staging: {
      isWhole: await isStagingWhole(writer, place, staged),
      writer: staging,
      async discard() {
        await staging.close()
        await clearStaging(writer, place, { confirm: taken.confirm })
      },
    },
    revoke() {
      visible.revoke()
      staging.revoke()
    },
    async close() {
      await visible.close()
      await staging.close()
    },
  }
}
