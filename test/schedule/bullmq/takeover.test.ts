import { describe, expect, it } from 'vitest'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { fleetAt, type Fleet } from './fleet.ts'
import { overlaps, type Entry } from './fleet-world.ts'

const pagesOf = (log: readonly Entry[], pid: number) =>
  log.filter((entry) => entry.pid === pid && entry.what === 'page').length

/** What the product promises; a bound of its own. */
const takeoverMs = 60_000

function untilPages(fleet: Fleet, pid: number, timeoutMs?: number): Promise<unknown> {
  const what = `pages of process ${pid}`
  const bound = timeoutMs === undefined ? {} : { timeoutMs }
  return waitFor(async () => pagesOf(await fleet.world.log(), pid) > 3, { what, ...bound })
}

// Each has keys of its own, and mostly waits.
describe.skipIf(!redisAvailable())('a worker', { concurrent: true }, () => {
  it('that is killed is taken over within a minute', async () => {
    // Under the locks that ship, not under shorter ones.
    const fleet = fleetAt(await useRedis(), { pages: 100_000, pageMs: 100 })
    await fleet.world.add('live', [1, 2])
    const scheduler = await fleet.start({ role: 'scheduler' })
    const first = await fleet.start()
    await untilPages(fleet, first.pid)
    const second = await fleet.start()
    await first.kill('SIGKILL')
    await untilPages(fleet, second.pid, takeoverMs)
    expect(overlaps(await fleet.world.log(), [first.pid])).toEqual([])
    await Promise.all([second.kill('SIGTERM'), scheduler.kill('SIGTERM')])
  })

  it('that was frozen for longer than its lock can no longer write, and works again afterwards', async () => {
    const fleet = fleetAt(await useRedis(), { pages: 100_000, pageMs: 50, lockMs: 1_500 })
    await fleet.world.add('live', [1])
    const scheduler = await fleet.start({ role: 'scheduler' })
    const first = await fleet.start()
    await untilPages(fleet, first.pid)
    const second = await fleet.start()
    await first.kill('SIGSTOP')
    await untilPages(fleet, second.pid)
    const before = pagesOf(await fleet.world.log(), first.pid)
    await first.kill('SIGCONT')
    await waitFor(
      async () => {
        const after = (await fleet.world.log()).filter(({ pid }) => pid === first.pid)
        return ['refused', 'aborted'].includes(after.at(-1)?.what ?? '')
      },
      { what: 'the thawed pump to end' },
    )
    const log = await fleet.world.log()
    // At most the page that had been under way when it froze, and that only before the other one took the fence.
    const taken = log.findIndex(({ pid }) => pid === second.pid)
    expect(pagesOf(log.slice(taken), first.pid)).toBe(0)
    expect(pagesOf(log, first.pid)).toBe(before)
    // Both work on: the thawed one takes other streams.
    await fleet.world.add('live', [2, 3, 4, 5, 6, 7, 8])
    await untilPages(fleet, first.pid)
    await Promise.all([first, second, scheduler].map((child) => child.kill('SIGTERM')))
  })

  it('that schedules and is killed is replaced by the others', async () => {
    const fleet = fleetAt(await useRedis(), { role: 'all', lockMs: 1_500 })
    await fleet.world.add('live', [1, 2, 3])
    const first = await fleet.start()
    const second = await fleet.start()
    await waitFor(async () => (await fleet.world.log()).length > 20, { what: 'pumps' })
    await first.kill('SIGKILL')
    const before = (await fleet.world.log()).length
    await waitFor(
      async () => {
        const later = (await fleet.world.log()).slice(before)
        return new Set(later.filter(({ what }) => what === 'end').map(({ zone }) => zone)).size === 3
      },
      { what: 'pumps of all streams' },
    )
    await second.kill('SIGTERM')
  })
})

describe.skipIf(!redisAvailable())('a stream whose page kills its process', () => {
  it('backs off after the second worker, and the other streams continue', async () => {
    const deadly = { deadly: [13], lockMs: 1_000, pages: 1 }
    const fleet = fleetAt(await useRedis(), deadly)
    await fleet.world.add('live', [13])
    const scheduler = await fleet.start({ role: 'scheduler' })
    const died = (pid: number) => async () =>
      (await fleet.world.log()).some((entry) => entry.pid === pid && entry.zone === 13)
    for (let worker = 0; worker < 2; worker++) {
      const { pid } = await fleet.start()
      await waitFor(died(pid), { what: `the end of worker ${worker}` })
    }
    // The stream is told, and is not begun by this one.
    const third = await fleet.start({ restMs: 3_600_000 })
    await third.waitForLine(/^failed 13 crashed$/)
    await fleet.world.add('live', [1, 2, 3])
    const ended = async () => (await fleet.world.log()).filter(({ what }) => what === 'end')
    await waitFor(async () => (await ended()).length === 3, { what: 'the other streams' })
    expect(await died(third.pid)()).toBe(false)
    expect((await third.kill('SIGTERM'))?.code).toBe(0)
    await scheduler.kill('SIGTERM')
  })
})
