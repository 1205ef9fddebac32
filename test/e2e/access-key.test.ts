import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clockArguments, createShiftedClock, todayAt } from '../entry/shifted-clock.ts'
import { waitFor } from '../setup/wait-for.ts'
import { caughtUp } from './caught-up.ts'
import { accessKey, logged, workplace } from './workplace.ts'

const wrong = 'a-wrong-key-that-nobody-may-see'

test.for([{ args: ['run', '--once'] }, { args: ['check'] }])(
  '$args with a wrong key fails with one clear line',
  async ({ args }) => {
    const place = await workplace({ days: 10 }, {}, { accessKey: wrong })
    const { code, stdout, stderr } = await place.ended(args)
    expect(code, stderr).toBe(1)
    const errors = logged(stderr).filter(({ level }) => level === 'error')
    const results = errors.flatMap(({ event, msg }) => (event === 'Progress' ? [String(msg)] : []))
    const said = [...stdout.split('\n'), ...results].filter((line) => /access key/.test(line))
    expect(said, stderr).toHaveLength(1)
    expect(said[0]).toContain('api.accessKey')
    // However many streams it stops, the log tells it once too.
    expect(errors.length - results.length).toBeLessThanOrEqual(1)
    expect(`${stdout}${stderr}`).not.toContain(wrong)
    expect(stderr).not.toMatch(/^\s+at /m)
  },
)

test('a daemon with a wrong key reports that, retries rarely, and continues with the right key', async () => {
  // Faster, since it waits long; the service's clock too, so that they agree.
  const fast = todayAt(12, 4)
  const place = await workplace({ days: 10, clock: createShiftedClock(fast) })
  const { simulator } = place
  const keyFile = join(place.folder, 'key')
  writeFileSync(keyFile, `${wrong}\n`)
  place.configure({ api: { baseUrl: simulator.url, accessKeyFile: keyFile }, server: { port: 0 } })
  const child = place.entry(clockArguments(fast))
  const [, address] = await child.waitForLine(/"address":"([^"]+)"/)
  const readyz = async () => {
    const answer = await fetch(`${address}/readyz`)
    return { status: answer.status, text: await answer.text() }
  }
  await waitFor(async () => (await readyz()).text.includes('access key'), { what: () => child.stderr() })
  expect(await readyz()).toMatchObject({ status: 503, text: expect.stringContaining('account default') })
  expect((await fetch(`${address}/healthz`)).status).toBe(200)

  // Every stream finds out once; then nothing is asked for a long time.
  const streams = 6
  await waitFor(() => simulator.requests.length > streams, { what: 'the second try' })
  const { requests } = simulator
  expect(requests[streams]!.at - requests[streams - 1]!.at).toBeGreaterThan(5_000)

  writeFileSync(keyFile, `${accessKey}\n`)
  await caughtUp(place, child)
  await waitFor(async () => (await readyz()).status === 200, { what: () => child.stderr() })
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(child.stderr()).not.toContain(wrong)
})
