import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyRun } from './any-run.ts'
import { counterexamples } from './counterexamples.ts'
import { runModel } from './run-model.ts'
import { seed } from '../../setup/seed.ts'

/**
 * The pump's rules as a specification that runs: the real pump and the real store against a model of the API with
 * random listings, cursors, lateness, clocks and faults. Each run goes over days of simulated time and fails where an
 * event is missing or stands twice, a complete scan missed something, lag is not honest, or a stream does not end as
 * it should.
 *
 * SHIELDLOG_TEST_MODEL_RUNS=1000 runs it for longer (`npm run test:long`); SHIELDLOG_TEST_SEED repeats a
 * run. Without the first it ends with the run in which 20 seconds have passed.
 */
const wantedRuns = process.env['SHIELDLOG_TEST_MODEL_RUNS']
const runs = Number(wantedRuns ?? 8)
const limitMs = wantedRuns === undefined ? 20_000 : Infinity

test(
  `the pump loses nothing and ships nothing twice, in up to ${runs} random runs against a model of the API, with seed ${seed}`,
  { timeout: 7_200_000 },
  () => {
    // Not fast-check's own limit: it fails where the first run takes longer, as on a busy machine.
    const untilMs = performance.now() + limitMs
    return fc.assert(
      fc.asyncProperty(anyRun, async (options) => {
        if (performance.now() > untilMs) return
        const requests = await runModel(options)
        // No busy loop, which would make millions: every stream is polled at its pace, whatever fails. Full scans of
        // the longest listing, 120 events on pages of two that overlap by one, need 180,000, and empty pages besides.
        const { emptyShare, emptyRun } = options.world
        const most = 300_000 * (1 + emptyShare * emptyRun)
        expect(requests).toBeLessThan(most * options.zones * (options.sinks + 1))
      }),
      { numRuns: runs },
    )
  },
)

test.each(counterexamples)('the pump passes the former counterexample: $why', async ({ options }) => {
  await expect(runModel(options)).resolves.toBeTypeOf('number')
})
