import { expect, test } from 'vitest'
import type { DeadLetter } from '../../src/domain/event/delivery.ts'
import { told } from '../tasks/backfill/backfilling.ts'
import { clockArguments, createShiftedClock, todayAt } from '../entry/shifted-clock.ts'
import { createRandom } from '../pump/model/random.ts'
import { seed } from '../setup/seed.ts'
import { waitFor } from '../setup/wait-for.ts'
import { honest } from './receiver.ts'
import { hostileReceiver, moods, type Mood } from './hostile-receiver.ts'
import { compare, compareFiles, exactly, keysOf, linesIn } from './shipped.ts'
import { endOf, readableDays, workplace, zones } from './workplace.ts'

/** Moods beside those that are met once each; `npm run test:long` asks for more. */
const more = Number(process.env['SHIELDLOG_TEST_HOSTILE_ROUNDS'] ?? 2)
const moodMs = 900

/** By the end of its id: about one event in 64. */
const isPoison = (key: string) => /[0-3]7$/.test(key)

const timeout = 300_000 + 20_000 * more

test(
  `a destination with random failures, seed ${seed}: nothing lost, the same bytes each time`,
  { timeout },
  async () => {
    const random = createRandom(seed)
    const siem = await hostileReceiver(isPoison)
    const fast = todayAt(10, 20)
    const live = { ratePerSecond: 0.5 }
    // Ten bodies a page. Smaller pages make a full scan of a long run so long that no new event comes in its time.
    const place = await workplace({ days: 40, pageSize: 100, clock: createShiftedClock(fast), live })
    const { simulator, events } = place
    place.configure({
      poll: { everySeconds: 5 },
      sinks: [
        { name: 'archive', type: 'file', path: events },
        {
          name: 'siem',
          type: 'http',
          url: siem.url,
          compression: 'gzip',
          // On this clock less than a second.
          timeoutSeconds: 15,
          batch: { maxEvents: 10 },
        },
      ],
    })
    const args = clockArguments(fast)
    const child = place.entry(args)
    const lines = () => linesIn(events)
    const rest: Mood[] = [...moods]
    for (let round = 0; round < moods.length + more; round++) {
      siem.mood =
        rest.length > 0 ? rest.splice(random.between(0, rest.length - 1), 1)[0]! : random.pick(moods)
      const [asked, shipped] = [siem.asked(), lines()]
      const beganMs = performance.now()
      // The other sink goes on, whatever the destination does.
      await waitFor(() => performance.now() - beganMs > moodMs && lines() > shipped, {
        what: () => `files beside a destination that is ${siem.mood}: ${child.stderr().slice(-2000)}`,
        everyMs: 50,
      })
      expect(child.isRunning(), child.stderr().slice(-2000)).toBe(true)
      const seconds = (performance.now() - beganMs) / 1000
      // Six streams with ten events a body; whoever spins sends thousands.
      expect(siem.asked() - asked, siem.mood).toBeLessThan(300 * Math.max(1, seconds))
    }
    siem.mood = 'well'
    simulator.calm()
    expect(await child.kill('SIGTERM'), child.stderr().slice(-2000)).toEqual({ code: 0, signal: null })
    const last = await endOf(place.entry(['--once', ...args]))
    expect(last.code, last.stderr).toBe(0)
    const days = readableDays()
    const all = keysOf(simulator, zones, days)
    const good = all.filter((key) => !isPoison(key))
    const what = `seed ${seed}`
    expect(compareFiles(events, simulator, zones, days), what).toEqual(exactly(all.length))
    expect(compare([...siem.taken.keys()], good), what).toEqual(exactly(good.length))
    expect(siem.honesty(), what).toEqual(honest)
    const listed = await told(place, 'dead-letters', 'list', '--json')
    const { deadLetters } = JSON.parse(listed.stdout) as { readonly deadLetters: readonly DeadLetter[] }
    const poison = all.filter(isPoison).map((key) => key.split('/')[2]!)
    expect(poison.length).toBeGreaterThan(0)
    expect(deadLetters.map(({ id }) => id).sort(), what).toEqual(poison.toSorted())
  },
)
