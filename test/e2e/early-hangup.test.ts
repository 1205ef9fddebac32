import { expect, test } from 'vitest'
import { caughtUp } from './caught-up.ts'
import { compareFiles, exactly } from './shipped.ts'
import { readableDays, workplace, zones } from './workplace.ts'

/** Sends a SIGHUP to its own process just before some of the program's files are loaded; the first is the program. */
function hangUpAt(loads: string): { NODE_OPTIONS: string } {
  const code = `import { registerHooks } from 'node:module'
    let loads = 0
    registerHooks({
      load(url, context, next) {
        if (url.startsWith('file:')) {
          loads++
          if (${loads}) process.kill(process.pid, 'SIGHUP')
        }
        return next(url, context)
      },
    })`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}

test.each([
  { when: 'before anything but the program is loaded', loads: 'loads === 2' },
  { when: 'a little later', loads: 'loads === 4' },
  { when: 'before each of its files is loaded', loads: 'loads > 1' },
])('a SIGHUP $when ends no process, and is followed once it ships', async ({ loads }) => {
  const place = await workplace({ days: 20 }, { server: { port: 0 } })
  const child = place.start(['run'], { env: hangUpAt(loads) })
  await child.waitForLine(/"event":"ConfigReloaded"/)
  await caughtUp(place, child)
  expect(await child.kill('SIGTERM'), child.stderr()).toEqual({ code: 0, signal: null })
  const whole = zones.length * 3 * 20
  expect(compareFiles(place.events, place.simulator, zones, readableDays())).toEqual(exactly(whole))
})

test('a SIGHUP at any moment of the start ends no process', async () => {
  const place = await workplace({ days: 20 }, { server: { port: 0 } })
  const child = place.start(['run'], { env: hangUpAt('loads > 1') })
  // From the first file on: before that Node has not run any code of the program.
  await child.waitForLine(/"event":"Started"/)
  for (let turn = 0; turn < 20; turn++) process.kill(child.pid, 'SIGHUP')
  await caughtUp(place, child)
  expect(await child.kill('SIGTERM'), child.stderr()).toEqual({ code: 0, signal: null })
})
