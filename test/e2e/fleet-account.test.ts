import { describe, expect, test } from 'vitest'
import type { SimulatorRequest } from '../../src/simulator/simulator.ts'
import { redisServerAvailable } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { askedBy, expectWhole, fleet, said, stopAll, streamOf, untilWhole, type Fleet } from './fleet.ts'
import * as faults from '../simulator/faults.ts'

const isOne = (request: SimulatorRequest) => askedBy(request)!.endsWith('-one')
const isTwo = (request: SimulatorRequest) => askedBy(request)!.endsWith('-two')
const isRefused = ({ fault }: SimulatorRequest) => fault === 'throttle'

/** Two accounts of two zones each; each process has a key of its own for each of them. */
async function fleetOfTwoAccounts(): Promise<Fleet> {
  const account = (name: string, zones: readonly number[]) => ({
    name,
    accessKey: `\${TEST_KEY_${name.toUpperCase()}:-asking-${name}}`,
    zones,
  })
  const all = await fleet({
    // So much that neither account is done before the end.
    simulator: { days: 1_000, pageSize: 20, latencyMs: 150 },
    settings: {
      zones: undefined,
      accounts: [account('one', [101, 102]), account('two', [103, 104])],
      workers: { streams: 4 },
    },
    env: (name) => ({ TEST_KEY_ONE: `${name}-one`, TEST_KEY_TWO: `${name}-two` }),
  })
  all.place.configure({ api: { baseUrl: all.place.simulator.url } })
  return all
}

/** Waits until every stream of account one was asked for again, by whichever worker. */
async function untilAllAskedSince(all: Fleet, sinceMs: number): Promise<void> {
  const { requests } = all.place.simulator
  const streams = () =>
    new Set(requests.filter((one) => one.at >= sinceMs && isOne(one) && !isRefused(one)).map(streamOf))
  await waitFor(() => streams().size === 6, {
    what: () => `all streams of account one, with ${[...streams()].join(' ')}${said(all)}`,
  })
}

describe.skipIf(!redisServerAvailable())('a pause that the API requests for an account', () => {
  test('applies to every worker, only for that account, and no longer than requested', async () => {
    const all = await fleetOfTwoAccounts()
    const { simulator } = all.place
    const { requests } = simulator
    await all.startWorkers('a', 'b', 'c')
    all.start('scheduler', 'scheduler')
    await waitFor(() => new Set(requests.slice(20).filter(isOne).map(askedBy)).size > 1, {
      what: () => `several workers on account one${said(all)}`,
    })

    simulator.fail({ match: { zone: 101 }, fault: faults.throttle({ retryAfter: 12 }) })
    const refused = await waitFor(() => requests.find(isRefused), { what: 'the refusal' })
    const endMs = refused.at + 12_000
    await untilAllAskedSince(all, endMs)
    const during = requests.filter(({ at }) => at > refused.at && at < endMs - 100)
    // Those that were on their way: of each of its six streams a page, and the one ahead of it.
    expect(during.filter(isOne).length).toBeLessThanOrEqual(12)
    expect(during.filter((one) => isOne(one) && one.at > refused.at + 4_000)).toEqual([])
    expect(during.filter(isTwo).length).toBeGreaterThan(20)

    // Pause after pause, until each stream has heard of many.
    const before = requests.length
    for (const zone of [101, 102])
      simulator.fail({ match: { zone }, times: Infinity, fault: faults.throttle({ retryAfter: 3 }) })
    const refusals = () => requests.slice(before).filter(isRefused)
    await waitFor(() => refusals().at(-1)!.at - refusals()[0]!.at > 10_000, {
      what: 'refusals for long',
    })
    simulator.heal()
    await untilAllAskedSince(all, refusals().at(-1)!.at)
    simulator.set({ latencyMs: 0 })
    await untilWhole(all)
    await stopAll(all)
    await expectWhole(all)
  })
})
