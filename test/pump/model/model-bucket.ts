import { gunzipSync } from 'node:zlib'
import { Failure } from '../../../src/domain/failure.ts'
import type { Stream } from '../../../src/domain/stream.ts'
import type { Format, Sink } from '../../../src/ports/delivery.ts'
import { createObjectSink, type TriedBucket } from '../../../src/sinks/s3/sink.ts'
import { lineOf } from './entry.ts'
import type { Life } from './faults.ts'
import type { Random } from './random.ts'
import type { ModelClock } from './world.ts'

interface Stored {
  readonly body: Buffer
  readonly metadata: Readonly<Record<string, string>>
}

/** A request that is on its way, although its sender has no answer. */
interface Late {
  readonly atMs: number
  readonly write: () => void
}

const format: Format = {
  name: 'model',
  mediaType: 'text/plain',
  encode: lineOf,
  identify: () => undefined,
}

/** A model of a bucket: writes an object only where its key is free; answers get lost, and requests come late. */
export class ModelBucket {
  readonly #objects = new Map<string, Stored>()
  #late: Late[] = []
  readonly #time: ModelClock
  readonly #random: Random
  adopted = 0

  constructor(time: ModelClock, random: Random) {
    this.#time = time
    this.#random = random
  }

  /** The lines of the objects of a stream, by number. Throws where a number is missing, or a line stands twice. */
  linesOf({ zone, day }: Stream): string[][] {
    this.#arrive()
    const prefix = `zone=${zone}/day=${day}/`
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).sort()
    const lines = keys.map((key, index) => {
      const number = Number(/-(\d{6})\.ndjson\.gz$/.exec(key)?.[1])
      if (number !== index + 1) throw new Error(`${key}: number ${index + 1} is missing`)
      return gunzipSync(this.#objects.get(key)!.body).toString().trimEnd().split('\n')
    })
    if (new Set(lines.flat()).size !== lines.flat().length) throw new Error(`${prefix}: a line stands twice`)
    return lines
  }

  sink(name: string, life: Life): Sink {
    const settings = {
      name,
      prefix: '',
      compress: 'gzip',
      maxBytes: this.#random.pick([60, 600, 60_000]),
      guarantee: 'exactly-once',
    } as const
    const telemetry = {
      emit: ({ name }: { readonly name: string }) => void (this.adopted += name === 'ObjectAdopted' ? 1 : 0),
    }
    return createObjectSink(settings, { format, telemetry }, this.#bucketOf(life))
  }

  #bucketOf(life: Life): TriedBucket {
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
        await life.step('before put')
        this.#arrive()
        const put = () => {
          const isFree = !this.#objects.has(key)
          if (isFree) this.#objects.set(key, { body, metadata })
          return isFree
        }
        const fault = life.chance('bucket') ? this.#random.pick(faults) : undefined
        if (fault === 'late')
          this.#late.push({ atMs: this.#time.hostMs + this.#random.between(0, 7_200_000), write: put })
        if (fault === 'failed') throw failed()
        if (fault === 'contended' || fault === 'late') return 'not-created'
        const isWritten = put()
        await life.step('after put')
        if (fault === 'written, failed') throw failed()
        return isWritten && fault === undefined ? 'created' : 'not-created'
      },
      head: async (key) => {
        const found = await read(key)
        return found && { metadata: found.metadata, bytes: found.body.length }
      },
      get: async (key) => (await read(key))?.body,
      // oxlint-disable-next-line require-yield
      async *list() {
        throw new Error('nothing lists')
      },
      check: async () => undefined,
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
