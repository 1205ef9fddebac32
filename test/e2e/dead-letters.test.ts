import { expect, test } from 'vitest'
import type { DeadLetter } from '../../src/domain/event/delivery.ts'
import type { Status } from '../../src/status/status.ts'
import { executeWith } from '../commands/workshop.ts'
import { keyOfLine, receiver, type Got, type Receiver } from './receiver.ts'
import { compare, keysOf } from './shipped.ts'
import { readableDays, workplace, zones, type Workplace } from './workplace.ts'

const [, yesterday, today] = readableDays()
const batch = { maxEvents: 40 }
const quiet = { log: { level: 'error', format: 'json' } }

/** Within this process: each of its own takes seconds to start on a busy machine. */
const command = (place: Workplace, args: readonly string[]) => executeWith(place.configFile, args)

const siemAt = ({ url }: Receiver, more: object = {}) => ({ name: 'siem', type: 'http', url, batch, ...more })

/** Refuses these events alone with 400, and takes all others. */
function refuse(siem: Receiver, poison: readonly string[], body = 'no such field'): void {
  const isPoison = ({ text }: Got) => poison.some((id) => text.includes(id))
  siem.answer((got) => (isPoison(got) ? { status: 400, body } : { status: 200 }))
}

const idsOf = ({ simulator }: Workplace, zone: number, day: string) =>
  simulator.entries(zone, day).map(({ logId }) => logId)
const listed = async (place: Workplace) =>
  (
    JSON.parse((await command(place, ['dead-letters', 'list', '--json'])).stdout) as {
      readonly deadLetters: readonly DeadLetter[]
    }
  ).deadLetters
const statusOf = async (place: Workplace) =>
  JSON.parse((await command(place, ['status', '--json'])).stdout) as Status
const lineOf = (lines: readonly string[], id: string) => lines.filter((line) => line.includes(`"${id}"`))

const takenKeys = ({ taken }: Receiver) => taken.map(keyOfLine)

async function poisoned(place: Workplace, siem: Receiver, poison: readonly string[]): Promise<void> {
  refuse(siem, poison)
  const ended = await command(place, ['run', '--once'])
  expect([ended.code, await listed(place)], ended.stderr).toMatchObject([1, { length: poison.length }])
}

test('a refused event is kept with the latest reason, and arrives once the receiver is fixed', async () => {
  const siem = await receiver()
  const place = await workplace({ days: 100, pageSize: 100 }, { ...quiet, sinks: [siemAt(siem)] })
  const poison = [
    idsOf(place, 101, yesterday)[57]!,
    idsOf(place, 102, today)[3]!,
    idsOf(place, 102, today)[4]!,
  ]
  await poisoned(place, siem, poison)
  const refusedLine = siem.got.flatMap(({ lines }) => lineOf(lines, poison[0]!)).at(-1)

  refuse(siem, poison.slice(1), 'still no such field')
  const half = await command(place, ['dead-letters', 'replay'])
  expect([half.code, half.stderr]).toEqual([1, 'replaying 3 dead letters\n'])
  expect(half.stdout).toBe(
    'siem: 1 delivered, 2 refused again (refused)\ndead-letters list shows the reasons\n',
  )
  expect(lineOf(siem.taken, poison[0]!)).toEqual([refusedLine])
  const kept = await listed(place)
  expect(kept.every(({ answer }) => answer.includes('still'))).toBe(true)
  expect(kept.map(({ id }) => id).sort()).toEqual(poison.slice(1).sort())
  expect((await statusOf(place)).deadLetters).toMatchObject([{ sink: 'siem', count: 2 }])

  siem.answer(() => ({ status: 200 }))
  const whole = await command(place, ['dead-letters', 'replay', '--sink', 'siem', '--json'])
  expect([whole.code, JSON.parse(whole.stdout)]).toEqual([
    0,
    { sinks: [{ sink: 'siem', delivered: 2, gone: 0, left: 0, refusedAgain: {} }] },
  ])
  expect(compare(takenKeys(siem), keysOf(place.simulator, zones, readableDays()))).toMatchObject({
    missing: 0,
    repeated: 0,
    strange: 0,
  })
  const { deadLetters, routes } = await statusOf(place)
  expect(deadLetters).toEqual([])
  expect(routes.flatMap(({ days }) => days.map((day) => [day.delivered, day.deadLetters]))).toEqual(
    Array.from({ length: 6 }, () => [100, 0]),
  )
  const audit = await command(place, ['audit', '--zone', '101,102', '--day', today])
  expect([audit.code, audit.stdout.match(/ ok$/gm)?.length], audit.stdout).toEqual([0, 2])
  expect((await command(place, ['dead-letters', 'replay'])).stdout).toBe('no dead letters\n')
})
