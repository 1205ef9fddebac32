import { afterAll, describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { Schedule } from '../../src/ports/process.ts'
import { systemClock } from '../../src/clock.ts'
import { buildCheckpoint } from '../domain/builders.ts'
import { waitFor } from '../setup/wait-for.ts'
import { fairnessContract } from './schedule/fairness.contract.ts'
import { World, untilAborted } from './schedule/world.ts'

/** What every schedule owes to the streams and to whoever stops it. The tests mostly wait, so they wait side by side. */
export function scheduleContract(name: string, start: (of: World) => Schedule): void {
  describe(`a schedule: ${name}`, { concurrent: true }, () => {
    const world = (): World => new World(systemClock)
    const opened: Schedule[] = []

    function started(of: World, streams = 4, backfillStreams = 2): Schedule {
      of.places = { live: streams, backfill: backfillStreams }
      const schedule = start(of)
      opened.push(schedule)
      return schedule
    }
    afterAll(async () => {
      await Promise.all(opened.map((schedule) => schedule.stop()))
    })

    it('pumps the streams that are due, and no others', async () => {
      const of = world()
      of.add('live', [1, 2, 3])
      of.add('live', [4], Date.now() + 3_600_000)
      of.add('live', [5], Infinity)
      started(of)
      await waitFor(() => of.ended.length >= 3, { what: 'three pumps' })
      const plansBefore = of.plans
      await waitFor(() => of.plans >= plansBefore + 2, { what: 'two more plans' })
      expect(of.ended.toSorted()).toEqual(['live 1', 'live 2', 'live 3'])
    })

    it('pumps a stream when it becomes due', async () => {
      const of = world()
      const dueAtMs = Date.now() + 1_500
      of.add('live', [1], dueAtMs)
      started(of)
      await waitFor(() => of.begun.length > 0, { what: 'the pump' })
      expect(Date.now()).toBeGreaterThanOrEqual(dueAtMs)
    })

    it('works on as many streams at once as configured, and never twice on one', async () => {
      const of = world()
      of.add('live', [1, 2, 3, 4, 5, 6, 7, 8, 9])
      of.work = async (planned, signal) => {
        await systemClock.sleep(150, signal)
        // Most have more to do at once, so that they are queued again and again.
        if (of.begun.length > 40) of.rest(planned.stream, planned.priority)
        return undefined
      }
      started(of, 3)
      await waitFor(() => of.ended.length > 40, { what: 'forty pumps' })
      expect(of.mostAtOnce).toBe(3)
      expect(of.mostOfOne).toBe(1)
      // Fair: no stream has waited while another one was pumped again and again.
      const counts = Map.groupBy(of.begun.slice(0, 36), (key) => key)
      expect(counts.size).toBe(9)
    })

    it('continues with other streams when a pump fails or throws, and later with that stream', async () => {
      const of = world()
      of.add('live', [1, 2, 3])
      of.work = async ({ stream, priority }) => {
        if (stream.zone === 1 && of.begun.filter((key) => key === 'live 1').length === 1)
          throw new Error('a bug')
        of.rest(stream, priority)
        return stream.zone === 2 ? new Failure('retry', 'network', 'written down') : undefined
      }
      started(of)
      await waitFor(() => of.ended.filter((key) => key === 'live 1').length === 2, {
        what: 'a second try',
      })
      expect(of.ended).toEqual(expect.arrayContaining(['live 2', 'live 3']))
      expect(of.internalEvents).toContainEqual(
        expect.objectContaining({ name: 'PumpFailed', error: new Error('a bug') }),
      )
      expect(of.internalEvents.filter(({ name }) => name === 'TickFailed')).toEqual([])
    })

    it('tries the streams of a sink that back off once the sink has taken events of another one', async () => {
      const of = world()
      of.sinkOf = (zone) => (zone === 9 ? 'other' : 'archive')
      of.sinks = ['archive', 'other']
      const hourMs = 3_600_000
      const tries = (zone: number) => of.begun.filter((key) => key === `live ${zone}`).length
      let taken = 0
      /** Backs off for an hour: zone 7 failed just now, the others ten minutes ago. Or has something delivered. */
      of.work = async ({ stream, priority }) => {
        const { zone } = stream
        const isTaken = zone === 1 && tries(1) > 1
        taken += Number(isTaken)
        const atMs = zone === 7 ? Date.now() : Date.now() - hourMs / 6
        const retryAtMs = Date.now() + hourMs
        const code = zone === 8 ? 'zone_gone' : 'disk_full'
        const trouble = { kind: 'stop', code, message: '', count: 9, sinceMs: 1, atMs, retryAtMs } as const
        const { counters } = buildCheckpoint()
        of.checkpoints.set(
          zone,
          buildCheckpoint({
            stream,
            ...(isTaken ? { counters: { ...counters, delivered: taken } } : { trouble }),
          }),
        )
        of.rest(stream, priority, isTaken ? Infinity : retryAtMs)
        return isTaken ? undefined : new Failure('stop', code, 'written down')
      }
      const all = [1, 2, 3, 4, 5, 6, 7, 8, 9]
      of.add('live', all)
      started(of)
      await waitFor(() => all.every((zone) => tries(zone) === 1), { what: 'a try of each' })
      const plansBefore = of.plans
      await waitFor(() => of.plans >= plansBefore + 2, { what: 'two more plans' })
      expect(of.begun).toHaveLength(all.length)
      of.add('live', [1])
      await waitFor(() => [2, 3, 4, 5, 6].every((zone) => tries(zone) === 2), { what: 'the others' })
      // Once: nothing more was taken since.
      const plansThen = of.plans
      await waitFor(() => of.plans >= plansThen + 2, { what: 'two more plans' })
      expect(all.map(tries)).toEqual([2, 2, 2, 2, 2, 2, 1, 1, 1])
    })

    it('reports that the store cannot be reached, and continues when it can', async () => {
      const of = world()
      of.add('live', [1])
      of.planFails = () => true
      started(of)
      await waitFor(() => of.internalEvents.some(({ name }) => name === 'TickFailed'), { what: 'the line' })
      expect(of.begun).toEqual([])
      of.planFails = () => false
      await waitFor(() => of.ended.length === 1, { what: 'the pump' })
    })

    fairnessContract(started)

    it('works on a stream that is due in both priorities in one of them at a time', async () => {
      const of = world()
      of.add('backfill', [1, 2, 3])
      of.add('live', [1, 2, 3])
      of.work = async (planned, signal) => {
        await systemClock.sleep(200, signal)
        of.rest(planned.stream, planned.priority)
        return undefined
      }
      started(of, 3, 3)
      await waitFor(() => new Set(of.ended).size === 6, { what: 'both priorities of all three' })
      expect(of.mostOfOne).toBe(1)
    })

    it('sends heartbeats and ticks, also while nothing is due', async () => {
      const of = world()
      started(of)
      await waitFor(() => of.heartbeats > 0 && of.turns > 1, { what: 'turns' })
      const turns = of.turns
      await waitFor(() => of.turns > turns, { what: 'another turn' })
    })

    it('ends running pumps when it is stopped, and starts no more', async () => {
      const of = world()
      of.add('live', [1, 2, 3, 4])
      of.work = async (_, signal) => untilAborted(signal)
      const schedule = started(of, 2)
      await waitFor(() => of.begun.length === 2, { what: 'two pumps' })
      await schedule.stop()
      expect(of.ended).toHaveLength(2)
      await schedule.stop()
      expect(of.begun).toHaveLength(2)
      expect(of.internalEvents.filter(({ name }) => name.endsWith('Failed'))).toEqual([])
    })
  })
}
