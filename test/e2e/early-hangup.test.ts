import { expect, test } from 'vitest'
import { caughtUp } from './caught-up.ts'
import { compareFiles, exactly } from './shipped.ts'
import { readableDays, workplace, zones } from './workplace.ts'

/** Sends a SIGHUP to its own process just before each of the program's files is loaded, but for the first, the program. */
const hangUpAtEachLoad = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module'
    let loads = 0
    registerHooks({
      load(url, context, next) {
        if (url.startsWith('file:') && ++loads > 1) process.kill(process.pid, 'SIGHUP')
        return next(url, context)
      },
    })`)}`,
}

test('a SIGHUP at any moment of the start ends no process, and is followed once it ships', async () => {
  const place = await workplace({ days: 20 }, { server: { port: 0 } })
  // From the first file on: before that Node has not run any code of the program.
  const child = place.start(['run'], { env: hangUpAtEachLoad })
  await child.waitForLine(/"event":"ConfigReloaded"/)
  for (let turn = 0; turn < 20; turn++) process.kill(child.pid, 'SIGHUP')
  await caughtUp(place, child)
  expect(await child.kill('SIGTERM'), child.stderr()).toEqual({ code: 0, signal: null })
  const whole = zones.length * 3 * 20
  expect(compareFiles(place.events, place.simulator, zones, readableDays())).toEqual(exactly(whole))
})
