import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { dayOf } from '../../src/domain/day.ts'
import type { GapReason } from '../../src/domain/gap.ts'
import { bodyOf, serveHttp } from '../setup/http-server.ts'
import { openSqliteStore } from '../setup/stores.ts'
import { waitFor } from '../setup/wait-for.ts'
import { compareFiles, exactly } from './shipped.ts'
import { readableDays, workplace, zones } from './workplace.ts'

const reasons: readonly GapReason[] = ['not_running', 'too_large', 'zone_gone']
const keys = reasons.map((reason) => `gap//${reason}`)

/** Lost days are told at once. */
async function loseDays(path: string): Promise<void> {
  const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1_000_000 })
  await using _ = { [Symbol.asyncDispose]: () => store.close() }
  const lost = { zone: 101, sink: 'archive', day: dayOf(0), from: 0, to: 1, recordedAt: systemClock.now() }
  await store.catalogue.addGaps(reasons.map((reason) => ({ ...lost, reason })))
}

/** Addresses of a place of kind json, with the keys that each was told; one hangs. `onMessage` may end who sent it. */
async function place() {
  const told: Record<string, string[]> = {}
  const world: { onMessage?: (count: number) => Promise<void> } = {}
  const { url } = await serveHttp(async (request, response) => {
    const { key } = JSON.parse(await bodyOf(request)) as { key: string }
    const own = (told[request.url!] ??= [])
    own.push(key)
    if (request.url === '/hung') return
    await world.onMessage?.(own.length)
    response.end()
  })
  const at = (name: string) => ({ name, kind: 'json', url: `${url}/${name}` })
  return { world, at, told: (name: string) => told[`/${name}`] ?? [] }
}

test('killed around messages: each is told, a kill repeats one at most, and a place that hangs delays no event', async () => {
  const { world, at, told } = await place()
  const days = readableDays()
  const work = await workplace({ days: 500, pageSize: 100 }, { notify: [at('ops'), at('hung')] })
  expect((await work.once()).code).toBe(0)
  await loseDays(work.database)
  for (const after of [1, 2]) {
    const child = work.start(['run'])
    const killed = new Promise<void>((resolve) => {
      world.onMessage = async (count) => {
        if (count < after) return
        await child.kill()
        resolve()
      }
    })
    await killed
  }
  delete world.onMessage
  const child = work.start(['run'])
  await waitFor(() => new Set(told('ops')).size === keys.length, { what: () => told('ops').join() })
  await child.kill()
  // A place that is new is told of all.
  work.configure({ notify: [at('ops'), at('hung'), at('later')] })
  const last = work.start(['run'])
  await waitFor(() => told('later').length === keys.length, { what: () => told('later').join() })
  expect(told('later').toSorted()).toEqual(keys)
  const kills = 3
  expect(told('ops').length).toBeLessThanOrEqual(keys.length + kills)
  expect(await last.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  const all = zones.length * days.length * 500
  expect(compareFiles(work.events, work.simulator, zones, days)).toEqual(exactly(all))
})
