import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Role } from '../../src/ports/process.ts'
import { dayOf } from '../../src/domain/day.ts'
import type { InternalEvent } from '../../src/domain/internal-event.ts'
import type { Status } from '../../src/status/fleet.ts'
import { probeAt, type Probe } from '../e2e/metrics.ts'
import { waitFor } from '../setup/wait-for.ts'
import * as faults from '../simulator/faults.ts'
import { apiOf, daemonWith } from './daemons.ts'

const never = new AbortController().signal
const everyMinutes = 0.01

/** A daemon that ships into files. */
async function daemonFor(
  settings: Readonly<Record<string, unknown>>,
  setup: { folder?: string; role?: Role } = {},
) {
  const { daemon, events, loadedWith, told } = daemonWith(
    { poll: { everySeconds: 0.5 }, server: { port: 0 }, ...settings },
    { serve: true, ...setup },
  )
  await daemon.open(never)
  await daemon.start()
  const toldOf = <Name extends InternalEvent['name']>(name: Name) =>
    told.filter((each): each is Extract<InternalEvent, { name: Name }> => each.name === name)
  return {
    told: toldOf,
    get probe(): Probe {
      return probeAt(toldOf('ServerListening')[0]!.address)
    },
    /** Zones with events of today. */
    shipped: () =>
      existsSync(events)
        ? readdirSync(events)
            .filter((name) => existsSync(join(events, name, `day=${dayOf(Date.now())}`)))
            .map((name) => Number(name.replace('shield_zone=', '')))
            .toSorted((a, b) => a - b)
        : [],
    reload: (zones: unknown) => daemon.reload(() => loadedWith({ zones })),
    zones: () =>
      daemon
        .engine()
        .shipping.settings()
        .zones.map(({ id }) => id),
  }
}

test('a new zone is shipped without a restart, and a deleted zone is retired with one log line', async () => {
  const { simulator, api } = await apiOf({ days: 3, zones: [101, 102] })
  const { shipped, told, zones, probe } = await daemonFor({
    api,
    zones: { all: true, exclude: [102], everyMinutes },
  })
  await waitFor(() => shipped().join() === '101', { what: () => `zone 101, not ${shipped().join()}` })
  simulator.set({ zones: [101, 102, 103] })
  await waitFor(() => shipped().join() === '101,103', { what: 'the new zone' })
  expect([...(await probe.metric('zone_info')).keys()].join()).toMatch(/zone="101".*zone="103"/)
  simulator.set({ zones: [101, 102] })
  await waitFor(() => told('ZonesRetired').length > 0, { what: 'the end of zone 103' })
  await waitFor(() => zones().join() === '101', { what: 'a plan without it' })
  expect(told('ZonesRetired')).toMatchObject([{ account: 'default', zones: [{ id: 103 }] }])
  expect(told('GapFound').map(({ gap }) => [gap.zone, gap.reason])).toContainEqual([103, 'zone_gone'])
  expect((await probe.get('/readyz')).status).toBe(200)
  const { unconfigured } = JSON.parse((await probe.get('/status')).text) as Status
  expect(unconfigured).toMatchObject([{ zone: 103, sink: 'archive', retired: true }])
})

test('without a zone list the daemon is not ready, and ships as soon as the API lists the zones', async () => {
  const { simulator, api } = await apiOf({ days: 3 })
  const fault = faults.status({ status: 500 })
  simulator.fail({ match: { operation: 'shieldZones' }, times: Infinity, fault })
  const { shipped, probe } = await daemonFor({
    api,
    zones: 'all',
  })
  const { status, text } = await probe.get('/readyz')
  expect([status, text]).toEqual([503, expect.stringContaining('the zones of account default have not been')])
  expect((await probe.get('/healthz')).status).toBe(200)
  simulator.heal()
  await waitFor(() => shipped().length === 2, { what: 'both zones' })
  await waitFor(async () => (await probe.get('/readyz')).status === 200, { what: 'readiness' })
})

test('a reload changes from listed zones to all zones and back, and is refused while the zones cannot be listed', async () => {
  const { simulator, api } = await apiOf({ days: 3 })
  const { told, reload, zones } = await daemonFor({
    api,
    zones: [102],
  })
  const fault = faults.status({ status: 403 })
  simulator.fail({ match: { operation: 'shieldZones' }, times: 3, fault })
  await reload('all')
  expect(told('ConfigRefused')).toMatchObject([{ errors: [expect.stringContaining('cannot be listed')] }])
  expect(zones()).toEqual([102])
  simulator.heal()
  await reload('all')
  expect(told('ConfigReloaded')).toMatchObject([{ changed: ['zones'] }])
  expect(zones()).toEqual([101, 102])
  await reload({ all: true, exclude: [102] })
  expect(zones()).toEqual([101])
  await reload([102])
  expect([zones(), told('ConfigReloaded').length]).toEqual([[102], 3])
})
