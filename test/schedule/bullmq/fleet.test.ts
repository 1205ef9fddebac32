import { describe, expect, it } from 'vitest'
import { redisAvailable, useRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { fleetAt } from './fleet.ts'
import { overlaps } from './fleet-world.ts'

describe.skipIf(!redisAvailable())('a fleet of processes', () => {
  it('shares the streams between three workers and two schedulers, never two workers on one stream', async () => {
    const fleet = fleetAt(await useRedis())
    const zones = Array.from({ length: 20 }, (_, at) => 100 + at)
    await fleet.world.add('live', zones)
    const children = await Promise.all(
      (['scheduler', 'scheduler', 'worker', 'worker', 'worker'] as const).map((role) =>
        fleet.start({ role }),
      ),
    )
    const log = await waitFor(
      async () => {
        const entries = await fleet.world.log()
        return entries.filter(({ what }) => what === 'end').length >= 150 && entries
      },
      { what: '150 pumps' },
    )
    expect(overlaps(log)).toEqual([])
    expect(new Set(log.map(({ zone }) => zone)).size).toBe(20)
    const pids = children.map(({ pid }) => pid)
    expect(new Set(log.map(({ pid }) => pid))).toEqual(new Set(pids.slice(2)))
    const exits = await Promise.all(children.map((child) => child.kill('SIGTERM')))
    expect(exits.map((exit) => exit?.code)).toEqual([0, 0, 0, 0, 0])
    for (const child of children) expect(child.stdout()).not.toMatch(/(Tick|Pump|Queue|Upkeep)Failed/)
  })

  it('passes the work of a stopped worker to another one at once, also if a pump hangs', async () => {
    // No lock runs out meanwhile.
    const fleet = fleetAt(await useRedis(), { pages: 1_000, pageMs: 20, streams: 2, lockMs: 3_600_000 })
    await fleet.world.add('live', [1, 2])
    await fleet.start({ role: 'scheduler' })
    const first = await fleet.start({ hanging: [2] })
    const begun = async (pid: number) => {
      const entries = await fleet.world.log()
      return new Set(entries.filter((entry) => entry.pid === pid).map(({ zone }) => zone)).size === 2
    }
    await waitFor(() => begun(first.pid), { what: 'both pumps' })
    const second = await fleet.start()
    const exit = await first.kill('SIGTERM')
    expect(exit?.code).toBe(0)
    await waitFor(() => begun(second.pid), { what: 'both pumps in the other worker' })
    expect(overlaps(await fleet.world.log(), [first.pid])).toEqual([])
    await second.kill('SIGTERM')
  })
})
