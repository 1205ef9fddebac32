import { expect, test } from 'vitest'
import { dayOf, shiftDay } from '../../../src/domain/day.ts'
import { receiver } from '../../e2e/receiver.ts'
import { workplace } from '../../e2e/workplace.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { backfillsOf, saidIn } from './backfilling.ts'
import { executeWith, openWorkshop } from '../workshop.ts'
import { inStore } from '../../setup/stores.ts'

const yesterday = shiftDay(dayOf(Date.now()), -1)
const resend = ['backfill', '--from', yesterday, '--to', yesterday, '--resend']
const archive = { name: 'archive', type: 'file', path: 'events' }
const siem = { name: 'siem', type: 'http', url: 'http://127.0.0.1:9/in' }

const isFile =
  '--resend does not work for file sinks, and archive is one: choose others with --sink, or give it a new name and path'

test.for([
  ['a file sink that is chosen', [archive, siem], ['--sink', 'siem,archive', '--yes'], isFile],
  ['a file sink alone', [archive], ['--yes'], isFile],
  ['files as the source', [archive, siem], ['--source', 'archive', '--sink', 'siem'], 'use one of them'],
] as const)('refuses %s before it reads anything', async ([, sinks, args, text]) => {
  const { execute } = openWorkshop({ sinks })
  const refused = await execute(...resend, ...args)
  expect([refused.code, refused.stdout]).toEqual([2, ''])
  expect(refused.stderr).toContain(text)
  expect(refused.stderr.trim().split('\n')).toHaveLength(1)
})

test('prints the plan without asking, and ships only after confirmation', async () => {
  const siem = await receiver()
  const place = await workplace({ days: 30, pageSize: 10 })
  place.configure({ sinks: [{ name: 'siem', type: 'http', url: siem.url }] })
  expect((await executeWith(place.configFile, ['run', '--once'])).code).toBe(0)
  const shipped = siem.taken.length
  const asked: string[] = []
  const answering = (answer: string) => ({
    ask: async (question: string) => {
      asked.push(question)
      return answer
    },
  })

  const planned = await executeWith(place.configFile, [...resend, '--dry-run'])
  expect([planned.code, planned.stdout], planned.stderr).toEqual([0, ''])
  expect(saidIn(planned.stderr)).toContain(
    `resend from ${yesterday} to ${yesterday}: 1 day × 2 zones × 1 sink\n`,
  )
  const unasked = await executeWith(place.configFile, resend)
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('confirm with --yes')])
  const declined = await executeWith(place.configFile, resend, answering(''))
  expect([declined.code, declined.stdout]).toEqual([1, ''])
  expect(saidIn(declined.stderr)).toContain('nothing was shipped\n')
  expect([asked.length, siem.taken.length, await backfillsOf(place)]).toEqual([1, shipped, []])
  expect(asked[0]).toBe(
    'this ships about 60 events of 1 day again to siem; a destination that does not deduplicate will have them twice. Continue? [y/N] ',
  )

  const done = await executeWith(place.configFile, resend, answering('yes'))
  expect(done.code, done.stderr).toBe(0)
  expect(saidIn(done.stderr)).toMatch(
    /backfill [0-9a-f]{10} done: 2 streams read, 6 pages, 60 events that counted as not shipped\b.*, in/,
  )
  expect(siem.taken).toHaveLength(shipped + 60)
  expect(await backfillsOf(place)).toMatchObject([{ state: 'done', done: 2 }])
})

test('waits for its days before the first of them counts as not shipped, and stays paused after a stop', async () => {
  const siem = await receiver()
  const place = await workplace({ days: 30, pageSize: 10 })
  place.configure({ sinks: [{ name: 'siem', type: 'http', url: siem.url }] })
  expect((await executeWith(place.configFile, ['run', '--once'])).code).toBe(0)
  const shipped = siem.taken.length
  const [first, second] = [101, 102].map((zone) => ({ zone, day: yesterday, sink: 'siem' }))
  const other = { id: 'another process', schedule: false }
  const fence = await inStore(place, async ({ ledger }) => (await ledger.take(second!, other)).fence)

  const stop = new AbortController()
  const stopped = executeWith(place.configFile, [...resend, '--yes'], { signal: stop.signal })
  const isUnseen = () =>
    inStore(place, async ({ ledger }) => {
      await ledger.heartbeat(other)
      return (await ledger.read(first!))?.counters.delivered === 0
    })
  await waitFor(isUnseen, { what: 'the first day to count as not shipped' })
  expect(await backfillsOf(place)).toMatchObject([{ state: 'paused', queued: 2 }])
  stop.abort()
  await stopped
  expect(await backfillsOf(place)).toMatchObject([{ state: 'paused', queued: 2 }])
  await inStore(place, ({ ledger }) => ledger.release(second!, fence))
  const [{ id } = { id: '' }] = await backfillsOf(place)
  expect((await executeWith(place.configFile, ['backfill', 'resume', id])).code).toBe(0)
  expect(await backfillsOf(place)).toMatchObject([{ state: 'done', done: 2 }])
  expect(siem.taken).toHaveLength(shipped + 30)
})
