import { constants } from 'node:fs'
import { open, readFile, type FileHandle } from 'node:fs/promises'
import { hasCode } from './file-failure.ts'

/**
 * Where the latest delivery into each part began, in a file of fixed slots beside the writer's identity. It tells a cut
 * that takes back one delivery from one that takes back more, which only an older copy of the store asks for. It is an
 * aid: never synced, and what it does not know counts as more than one delivery.
 */
export interface DeliveryNotes {
  /** `part` is the path below the root. To be called before the first byte is written. */
  note(part: string, from: number): Promise<void>
  startOf(part: string): number | undefined
  close(): Promise<void>
}

const slotBytes = 256
/** Then the slot that was unused for longest is taken again. */
const maxSlots = 4096

interface Slot {
  readonly index: number
  readonly from: number
}

export async function openNotes(path: string, mode: number): Promise<DeliveryNotes> {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW
  const handle = await open(path, flags, mode)
  await handle.chmod(mode)
  const slots = await readSlots(path)
  return {
    async note(part, from) {
      const index = slots.get(part)?.index ?? freeSlot(slots)
      // Taken out first, so that the map stays in order of use.
      slots.delete(part)
      slots.set(part, { index, from })
      await writeSlot(handle, index, `${from} ${part}`)
    },
    startOf: (part) => slots.get(part)?.from,
    close: () => handle.close(),
  }
}

/** The notes of a writer that is gone. */
export async function readNotes(path: string): Promise<(part: string) => number | undefined> {
  const slots = await readSlots(path)
  return (part) => slots.get(part)?.from
}

async function writeSlot(handle: FileHandle, index: number, text: string): Promise<void> {
  const bytes = Buffer.alloc(slotBytes, 0x20)
  bytes.write(text)
  bytes[slotBytes - 1] = 0x0a
  await handle.write(bytes, 0, slotBytes, index * slotBytes)
}

function freeSlot(slots: Map<string, Slot>): number {
  if (slots.size < maxSlots) {
    const used = new Set([...slots.values()].map((slot) => slot.index))
    let index = 0
    while (used.has(index)) index++
    return index
  }
  const [part, slot] = slots.entries().next().value!
  slots.delete(part)
  return slot.index
}

async function readSlots(path: string): Promise<Map<string, Slot>> {
  const slots = new Map<string, Slot>()
  const bytes = await readFile(path).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return Buffer.alloc(0)
    throw error
  })
  for (let index = 0; index < maxSlots && (index + 1) * slotBytes <= bytes.length; index++) {
    const text = bytes.toString('utf8', index * slotBytes, (index + 1) * slotBytes)
    const match = /^(\d{1,15}) (\S+) *\n$/.exec(text)
    if (match !== null) slots.set(match[2]!, { index, from: Number(match[1]) })
  }
  return slots
}
