import { expect, test } from 'vitest'
import type { AzureBlobSinkConfig } from '../../src/sinks/azure-blob/config.ts'
import { idsOf, placeFor } from '../intakes/place.ts'
import { eventsIn, expectEachOnce } from '../intakes/servers/bucket.ts'
import { sasOf, startAzurite } from '../setup/azurite.ts'
import { storeClient } from '../sinks/objects/store-client.ts'
import { endOf, readableDays, zones } from './workplace.ts'

test.each([{ compress: 'gzip' }, { file: 'parquet' }])(
  'a container has each event once although the shipper, which may not overwrite, was killed between an object and its commit: %j',
  async (form) => {
    const azurite = await startAzurite()
    const { key, ...given } = await azurite.freshContainer()
    const sink = { ...given, ...form, everySeconds: 0.5, sas: sasOf(given.container, 'rcl') }
    const { client } = storeClient<AzureBlobSinkConfig>({ ...given, key })
    const place = await placeFor(sink)
    const checked = await place.ended(['check'])
    expect(checked.code, checked.stdout + checked.stderr).toBe(0)
    const killed = await endOf(place.entry(['--once', '--kill', 'after:deliver:3']))
    expect(killed.signal, killed.stderr).toBe('SIGKILL')
    // So the same number would be another object now.
    for (const zone of zones) for (const day of readableDays()) place.simulator.append(zone, day, 20)
    const { code, stderr } = await place.once()
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('"ObjectAdopted"')
    expectEachOnce(await eventsIn(client), idsOf(place))
    const audited = await place.ended(['audit', '--deep'])
    expect(audited.code, audited.stdout + audited.stderr).toBe(0)
    expect(audited.stdout).toMatch(/files have [\d,]+ lines/)
    for (const secret of [sink.sas, key])
      for (const { stdout, stderr: said } of [checked, killed, audited])
        expect(stdout + said).not.toContain(secret)
  },
)
