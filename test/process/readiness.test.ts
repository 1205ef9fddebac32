import { expect, test } from 'vitest'
import type { Observation } from '../../src/domain/observation.ts'
import { reasonsNotReady } from '../../src/process/readiness.ts'

const policy = { everyMs: 30_000, everyMsOf: new Map([['lake', 900_000]]) }

/** Lags in seconds by zone and sink. */
const reasonsAt = (lags: readonly (readonly [zone: number, sink: string, lagSeconds: number])[]) =>
  reasonsNotReady({
    phase: 'running',
    trouble: undefined,
    missing: undefined,
    writeFailure: undefined,
    observe: () =>
      Promise.resolve({
        settings: { policy },
        refusedAccounts: [],
        routes: lags.map(([zone, sink, lagSeconds]) => ({ summary: { zone, sink, lagSeconds } })),
      } as unknown as Observation),
    readyLagSeconds: 900,
  })

test('a lag counts from the limit of the settings on, for a sink with a slow pace from its second poll on', async () => {
  expect(await reasonsAt([[101, 'siem', 900], [101, 'lake', 1_800]])).toEqual([]) // prettier-ignore
  expect(await reasonsAt([[101, 'siem', 901]])).toEqual([
    'zone 101 → siem has a lag of 15 min 1 s (more than 15 min)',
  ])
  expect(await reasonsAt([[101, 'lake', 1_801]])).toEqual([
    'zone 101 → lake has a lag of 30 min 1 s (more than 30 min)',
  ])
})

test('of many routes that lag the worst is named, and the others are counted', async () => {
  const all = Array.from({ length: 60 }, (_, index) => [101 + index, 'siem', 901 + index] as const)
  expect(await reasonsAt(all)).toEqual([
    'zone 160 → siem has a lag of 16 min (more than 15 min); so have 59 other routes',
  ])
})
