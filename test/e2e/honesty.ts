import { hash } from 'node:crypto'
import type { Got } from './receiver.ts'
import type { Line } from './shipped.ts'

/** How often something came in two forms that has to be the same on every try. */
export interface Honesty {
  /** One event, two lines. */
  readonly changedEvents: number
  /** One idempotency key, two bodies. */
  readonly keysWithTwoBodies: number
  /** One body, two idempotency keys. */
  readonly bodiesWithTwoKeys: number
}

export const honest: Honesty = { changedEvents: 0, keysWithTwoBodies: 0, bodiesWithTwoKeys: 0 }

type Sent = Pick<Got, 'headers' | 'text' | 'lines'>

/** What holds of every request, whatever became of it. */
export function honestyOf(got: readonly Sent[]): Honesty {
  const honesty = createHonesty()
  got.forEach(honesty.note)
  return honesty.found()
}

/** The same request by request, of which hashes are kept. */
export function createHonesty() {
  const [lines, bodies, keys] = [createTexts(), createTexts(), createTexts()]
  return {
    note(one: Sent) {
      const key = String(one.headers['idempotency-key'])
      bodies.note(key, one.text)
      keys.note(hashOf(one.text), key)
      for (const line of one.lines) lines.note(keyOfLine(line), line)
    },
    found: (): Honesty => ({
      changedEvents: lines.differing(),
      keysWithTwoBodies: bodies.differing(),
      bodiesWithTwoKeys: keys.differing(),
    }),
  }
}

/** `zone/day/id` of a line in native format, with the day of its time. */
export function keyOfLine(text: string): string {
  const { id, zone, time } = JSON.parse(text) as Line
  return `${zone.id}/${time.slice(0, 10)}/${id}`
}

const hashOf = (text: string) => hash('sha1', text, 'base64')

function createTexts() {
  const first = new Map<string, string>()
  const differing = new Set<string>()
  return {
    note(name: string, text: string) {
      const found = hashOf(text)
      if ((first.get(name) ?? found) !== found) differing.add(name)
      first.set(name, first.get(name) ?? found)
    },
    differing: () => differing.size,
  }
}
