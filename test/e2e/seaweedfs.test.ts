import { expect, test } from 'vitest'
import { idsOf, placeFor } from '../intakes/place.ts'
import { bucketSink, eventsIn, expectEachOnce } from '../intakes/servers/bucket.ts'
import { seaweedFs } from '../intakes/servers/seaweedfs.ts'
import { seaweedFsAvailable } from '../setup/available.ts'
import { storeClient } from '../sinks/objects/store-client.ts'
import { endOf, readableDays, zones } from './workplace.ts'

test.skipIf(!seaweedFsAvailable()).each([{ compress: 'gzip' }, { file: 'parquet' }])(
  'a bucket has each event once although the shipper was killed between an object and its commit: %j',
  async (form) => {
    const { url, createBucket } = await seaweedFs.start()
    await createBucket('waf')
    const sink = bucketSink(url, 'waf', form)
    const { client } = storeClient(sink)
    const place = await placeFor(sink)
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
  },
)
