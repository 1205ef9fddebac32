import { dirname } from 'node:path'
import { Failure } from '../../../src/domain/failure.ts'
import type { Identity } from '../../../src/domain/event/event.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Format, Sink } from '../../../src/ports/delivery.ts'
import { createObjectSink } from '../../../src/sinks/objects/sink.ts'
import type { ObjectStore } from '../../../src/sinks/objects/store.ts'
import { lineTable } from '../../sinks/file/samples.ts'
import { linesIn } from '../../sinks/objects/memory-store.ts'
import { lakeName, lineOf } from './entry.ts'
import type { Life } from './faults.ts'
import type { Random } from './random.ts'
import type { ModelClock } from './world.ts'

interface Stored {
  readonly body: Buffer
  /** Of an object with data. */
  readonly lines: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
}

/** A request that is on its way, although its sender has no answer. */
interface Late {
  readonly atMs: number
  readonly write: () => unknown
}

/** Cannot write some events, which become dead letters: whatever id they have, and whichever object they come before. */
const format: Format = {
  name: 'model',
  mediaType: 'text/plain',
  encode,
  table: lineTable(encode),
  identify: () => undefined,
}

function encode(event: Identity): string {
  if (isUnwritable(event)) throw new Error('no such line')
  return lineOf(event)
}

export function isUnwritable({ time }: Identity): boolean {
  return time?.endsWith('7Z') === true
}

/** Also of one stream, now and then: it keeps to that of its first try. */
const forms = [
  { file: 'ndjson', compress: 'gzip' },
  { file: 'ndjson', compress: 'zstd' },
  { file: 'parquet', compress: null },
] as const

/** A model of a bucket: writes an object only where its key is free; answers get lost, and requests come late. */
export class ModelBucket {
  readonly #objects = new Map<string, Stored>()
  readonly #lines = new Map<string, string[][]>()
  #late: Late[] = []
  readonly #time: ModelClock
  readonly #random: Random

  constructor(time: ModelClock, random: Random) {
    this.#time = time
    this.#random = random
  }

  /** The lines of the objects of a stream, by number. */
  linesOf({ zone, day }: Stream): readonly (readonly string[])[] {
    this.#arrive()
    return this.#lines.get(`shield_zone=${zone}/day=${day}`) ?? []
  }

  /** Throws where a number is missing, or a line stands in two objects. */
  #write(key: string, object: Stored): boolean {
    if (this.#objects.has(key)) return false
    this.#objects.set(key, object)
    const number = /-(\d{6})\.(?:ndjson\.(?:gz|zst)|parquet)$/.exec(key)?.[1]
    if (number === undefined) return true
    const folder = dirname(key)
    const known = this.#lines.get(folder) ?? []
    this.#lines.set(folder, known)
    known.push([...object.lines])
    if (Number(number) !== known.length) throw new Error(`${key}: number ${known.length} is missing`)
    if (new Set(known.flat()).size !== known.flat().length) throw new Error(`${key}: a line stands twice`)
    return true
  }

  sink(life: Life): Sink {
    const settings = {
      name: lakeName,
      prefix: '',
      ...this.#random.pick(forms),
      maxBytes: this.#random.pick([60, 600, 60_000]),
      guarantee: 'exactly-once',
    } as const
    const telemetry = { emit: () => undefined }
    const lake = { settings, format, telemetry, store: this.#storeOf(life) }
    return createObjectSink(lake, async () => undefined)
  }

  #storeOf(life: Life): Omit<ObjectStore, 'list' | 'remove'> {
    const failed = () => new Failure('retry', 'server_error', 'status 503')
    const read = async (key: string): Promise<Stored | undefined> => {
      await life.step('before look')
      if (life.chance('bucket')) throw failed()
      this.#arrive()
      return this.#objects.get(key)
    }
    return {
      address: 'model',
      create: async (key, body, { metadata }) => {
        const lines = key.includes('_shieldlog/') ? [] : await linesIn(key, body)
        await life.step('before put')
        this.#arrive()
        const put = () => this.#write(key, { body, lines, metadata })
        const fault = life.chance('bucket') ? this.#random.pick(faults) : undefined
        if (fault === 'late')
          this.#late.push({ atMs: this.#time.hostMs + this.#random.between(0, 7_200_000), write: put })
        if (fault === 'failed') throw failed()
        if (fault === 'contended' || fault === 'late') return 'unknown'
        const isWritten = put()
        await life.step('after put')
        if (fault === 'written, failed') throw failed()
        return isWritten && fault === undefined ? 'created' : 'unknown'
      },
      head: async (key) => {
        const found = await read(key)
        return found && { metadata: found.metadata, bytes: found.body.length }
      },
      get: async (key) => (await read(key))?.body,
      close: async () => undefined,
    }
  }

  /** What comes late has arrived by now. */
  #arrive(): void {
    const arrived = this.#late.filter(({ atMs }) => atMs <= this.#time.hostMs)
    this.#late = this.#late.filter(({ atMs }) => atMs > this.#time.hostMs)
    for (const { write } of arrived) write()
  }
}

const faults = ['contended', 'late', 'failed', 'written, failed', 'written, lost'] as const
