import { expect, it } from 'vitest'
import type { Json } from '../../src/domain/text/json.ts'
import { eventsOf } from '../../src/shield/entries/to-event.ts'
import { unexpectedIn } from '../../src/shield/entries/unexpected.ts'
import { createRedactor } from '../../src/shield/redaction/redact.ts'
import { entry } from '../shield/samples.ts'
import { createStage, listingOf, whole, zone } from './stage.ts'

const redactor = createRedactor('off')
const minuteMs = 60_000

/** A stage whose day lists entries; each poll reads all of them again, in pages of two and loads of one page. */
async function polled() {
  const stage = await createStage()
  const entries: Json[] = []
  stage.script.answer = (...of) => listingOf(eventsOf(entries, zone, redactor), 2)(...of)
  const source = { ...stage.deps.source, unexpectedIn }
  const told: (string | object)[] = []
  const telemetry: typeof stage.deps.telemetry = {
    emit(event) {
      if (event.name === 'EntriesUnexpected') told.push(event.found.counts)
      if (event.name === 'EntriesAsExpected') told.push(event.name)
    },
  }
  return {
    ...stage,
    told,
    /** Lists entries of now; `odd` ones have a further member. */
    list(...kinds: ('odd' | 'usual')[]) {
      for (const kind of kinds) {
        const own = { logId: `e${entries.length}`, timestamp: stage.clock.now() }
        entries.push(entry(kind === 'odd' ? { ...own, ja4: 'x' } : own))
      }
    },
    async poll(minutes = 1) {
      await stage.clock.advance(minutes * minuteMs)
      await stage.pump({}, undefined, { source, telemetry }).catch(() => undefined)
    },
    drift: async () => (await stage.read())?.drift,
  }
}

it('new entries are looked at once, page by page, and the checkpoint keeps what was met', async () => {
  const { list, poll, told, drift, clock } = await polled()
  list('usual', 'odd', 'usual', 'usual', 'odd')
  await poll()
  const sinceMs = clock.now()
  for (let times = 0; times < 5; times++) await poll()
  expect(told).toEqual([{ member: 1 }, { member: 1 }])
  const { names, sinceMs: since, latestMs } = (await drift())!
  expect(names).toEqual({ member: ['ja4'] })
  expect([since, latestMs].every((ms) => Math.abs(ms - sinceMs) < minuteMs)).toBe(true)
})

it('a drift is over when events have come for an hour that are all as expected, and not before', async () => {
  const { list, poll, told, drift } = await polled()
  list('odd')
  await poll()
  for (let minutes = 0; minutes < 55; minutes += 5) {
    list('usual')
    await poll(5)
  }
  expect(told).toEqual([{ member: 1 }])
  expect(await drift()).toBeDefined()
  for (let times = 0; times < 3; times++) {
    list('usual')
    await poll(5)
  }
  // The poll reads what was listed five minutes before.
  list('usual')
  await poll(5)
  expect(told).toEqual([{ member: 1 }, 'EntriesAsExpected'])
  expect(await drift()).toBeUndefined()
})

it('what a delivery has not settled is told with the one that does', async () => {
  const { list, poll, told, drift, script } = await polled()
  list('odd', 'odd')
  script.deliver = async () => {
    throw new Error('down')
  }
  await poll()
  expect([told, await drift()]).toEqual([[], undefined])
  script.deliver = async () => whole
  for (let times = 0; times < 3 && told.length === 0; times++) await poll(60)
  expect(told).toEqual([{ member: 2 }])
})
