import { globSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { redisServerAvailable, type TestRedisServer } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import {
  endTraffic,
  expectWhole,
  fleet,
  said,
  stopAll,
  untilCommitted,
  untilWhole,
  type Fleet,
  type Member,
} from './fleet.ts'

/** Three processes in the midst of the first pages of all streams. `before` comes before any of them has started. */
async function fleetUnderWay(before = async (_all: Fleet) => {}): Promise<Fleet> {
  const live = { ratePerSecond: 2 }
  const all = await fleet({ simulator: { days: 250, pageSize: 20, latencyMs: 250, live } })
  // Loads of two pages, so that streams commit in the midst of their scans.
  const rotate = { maxBytes: 20_000 }
  all.place.configure({ sinks: [{ name: 'archive', type: 'file', path: all.place.events, rotate }] })
  await before(all)
  all.start('all', 'one')
  all.start('worker', 'two')
  all.start('worker', 'three')
  await waitFor(
    async () => {
      const streams = (await all.checkpoints()).filter(({ lastFull }) => lastFull === undefined)
      return streams.length >= 8 && streams.some(({ commit }) => commit > 2)
    },
    { what: () => `pages of many streams${said(all)}` },
  )
  return all
}

/** Waits for more pages than those that were on their way. */
async function untilResumed(all: Fleet): Promise<void> {
  const { requests } = all.place.simulator
  const before = requests.length
  await waitFor(() => requests.length > before + 20, { what: () => `pages${said(all)}` })
}

const answerOf = async (member: Member, path: string) => (await member.probe()).get(path)

/** Nobody died of it, everything goes on, and in the end each event stands once. */
async function expectWholeAgain(all: Fleet): Promise<void> {
  await untilResumed(all)
  all.place.simulator.set({ latencyMs: 5 })
  endTraffic(all)
  await untilWhole(all)
  await expectReady(all)
  await stopAll(all)
  await expectWhole(all)
}

/** The three that nobody has stopped. */
function running({ members }: Fleet): readonly Member[] {
  const found = members.filter((member) => member.isRunning())
  expect(found.length, said({ members })).toBe(3)
  return found
}

async function expectReady(all: Fleet): Promise<void> {
  for (const member of running(all)) {
    const isReady = async () => (await answerOf(member, '/readyz')).status === 200
    await waitFor(isReady, { what: () => `readiness${said(all)}` })
  }
}

async function expectPatient(member: Member): Promise<void> {
  const isUnready = async () => (await answerOf(member, '/readyz')).status === 503
  await waitFor(isUnready, { what: () => `${member.name} to be unready: ${member.stderr().slice(-1_500)}` })
  // A restart would not help.
  expect((await answerOf(member, '/healthz')).status).toBe(200)
  expect(member.stderr().split('\n').length).toBeLessThan(100)
}

/** As after a power cut: what is committed while `until` waits has not reached the disk when the server dies. */
async function cutPower(
  { folder, kill }: TestRedisServer,
  until: (lostCommits: () => number) => Promise<unknown>,
): Promise<void> {
  const [log] = globSync(['appendonlydir/*.incr.aof', 'appendonly.aof'], { cwd: folder })
  const path = join(folder, log!)
  const { size } = statSync(path)
  await until(() => readFileSync(path).subarray(size).toString('latin1').split('}:checkpoints\r').length - 1)
  await kill()
  truncateSync(path, size)
}

const afterCommits = (lost: () => number) => waitFor(() => lost() > 8, { what: 'commits', everyMs: 5 })

// Each has a Redis of its own, and mostly waits.
describe.skipIf(!redisServerAvailable())('a fleet whose Redis', { concurrent: true }, () => {
  test('starts later, is killed and back after 5 s, loses its power and is back a second older at once and after 35 s, ships each event once', async () => {
    const all = await fleetUnderWay(async ({ redis, start }) => {
      await redis.kill()
      const waiting = start('all', 'waiting')
      const { status, text } = await answerOf(waiting, '/readyz')
      expect([status, text]).toEqual([503, expect.stringContaining(new URL(redis.url).host)])
      expect((await answerOf(waiting, '/healthz')).status).toBe(200)
      expect(waiting.stderr().match(/"event":"Warned","about":"state"/g)).toHaveLength(1)
      const stopped = start('all', 'stopped')
      expect((await answerOf(stopped, '/healthz')).status).toBe(200)
      expect(await stopped.kill('SIGTERM'), stopped.stderr()).toEqual({ code: 0, signal: null })
      await redis.restart()
      await waiting.waitForLine(/"event":"Started"/)
      expect(await waiting.kill('SIGTERM'), waiting.stderr()).toEqual({ code: 0, signal: null })
    })
    await all.redis.kill()
    await sleep(5_000)
    await all.redis.restart()
    await untilResumed(all)
    await cutPower(all.redis, afterCommits)
    await all.redis.restart()
    await untilResumed(all)
    await cutPower(all.redis, afterCommits)
    await sleep(35_000)
    for (const member of running(all)) await expectPatient(member)
    await all.redis.restart()
    await expectWholeAgain(all)
  })

  test('has lost commits: lines of streams that another worker reads again are removed', async () => {
    const all = await fleet({ simulator: { days: 80, pageSize: 20, latencyMs: 250 } })
    all.start('scheduler', 'scheduler')
    const first = all.start('worker', 'first')
    const begun = async () => (await all.checkpoints()).filter(({ commit }) => commit > 0).length > 3
    await waitFor(begun, { what: () => `pages of some streams${said(all)}` })
    await cutPower(all.redis, () => untilWhole(all))
    // Its pumps have ended well: nothing of what follows is news to it.
    await first.kill('SIGSTOP')
    await all.redis.restart()
    all.start('worker', 'second')
    await untilCommitted(all)
    expect(all.compare()).toMatchObject({ missing: 0, strange: 0 })
    expect(all.compare().repeated).toBeGreaterThan(0)
    await first.kill('SIGCONT')
    await untilWhole(all)
    await stopAll(all)
    await expectWhole(all)
  })
})
