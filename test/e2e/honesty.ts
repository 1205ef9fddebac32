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

/** What holds of every request, whatever became of it. */
export function honestyOf(got: readonly Pick<Got, 'headers' | 'text' | 'lines'>[]): Honesty {
  const lines = createTexts()
  const bodies = createTexts()
  const keys = createTexts()
  for (const one of got) {
    const key = String(one.headers['idempotency-key'])
    bodies.note(key, one.text)
    keys.note(one.text, key)
    for (const line of one.lines) lines.note(keyOfLine(line), line)
  }
  return {
    changedEvents: lines.differing(),
    keysWithTwoBodies: bodies.differing(),
    bodiesWithTwoKeys: keys.differing(),
  }
}

/** `zone/day/id` of a line in native format, with the day of its time. */
export function keyOfLine(text: string): string {
  const { id, zone, time } = JSON.parse(text) as Line
  return `${zone.id}/${time.slice(0, 10)}/${id}`
}

function createTexts() {
  const first = new Map<string, string>()
  const differing = new Set<string>()
  return {
    note(name: string, text: string) {
      const known = first.get(name)
      if (known === undefined) first.set(name, text)
      else if (known !== text) differing.add(name)
    },
    differing: () => differing.size,
  }
}
