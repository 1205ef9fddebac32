import { expect, test } from 'vitest'
import type { AzureBlobSinkConfig } from '../../src/sinks/azure-blob/config.ts'
import { idsOf, placeFor } from '../intakes/place.ts'
import { bucketSink, eventsIn, expectEachOnce } from '../intakes/servers/bucket.ts'
import { seaweedFs } from '../intakes/servers/seaweedfs.ts'
import { seaweedFsAvailable } from '../setup/available.ts'
import { sasOf, startAzurite } from '../setup/azurite.ts'
import { storeClient } from '../sinks/objects/store-client.ts'
import { endOf, readableDays, zones } from './workplace.ts'

async function inSeaweedFs() {
  const { url, createBucket } = await seaweedFs.start()
  await createBucket('waf')
  const sink = bucketSink(url, 'waf', { compress: 'gzip' })
  return { sink, client: storeClient(sink).client, secrets: [] }
}

/** The shipper may not overwrite there. */
async function inAzurite() {
  const { key, ...given } = await (await startAzurite()).freshContainer()
  const sas = sasOf(given.container, 'rcl')
  const { client } = storeClient<AzureBlobSinkConfig>({ ...given, key })
  return { sink: { ...given, file: 'parquet', everySeconds: 0.5, sas }, client, secrets: [sas, key] }
}

/** It is killed between an object and its commit. */
async function killed(begin: typeof inSeaweedFs | typeof inAzurite): Promise<void> {
  const { sink, client, secrets } = await begin()
  const place = await placeFor(sink)
  const checked = await place.ended(['check'])
  expect(checked.code, checked.stdout + checked.stderr).toBe(0)
  const first = await endOf(place.entry(['--once', '--kill', 'after:deliver:3']))
  expect(first.signal, first.stderr).toBe('SIGKILL')
  // So the same number would be another object now.
  for (const zone of zones) for (const day of readableDays()) place.simulator.append(zone, day, 20)
  const { code, stderr } = await place.once()
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('"ObjectAdopted"')
  expectEachOnce(await eventsIn(client), idsOf(place))
  const audited = await place.ended(['audit', '--deep'])
  expect(audited.code, audited.stdout + audited.stderr).toBe(0)
  expect(audited.stdout).toMatch(/files have [\d,]+ lines/)
  for (const secret of secrets)
    for (const { stdout, stderr: said } of [checked, first, audited])
      expect(stdout + said).not.toContain(secret)
}

// Both forms of objects are killed in both stores by test/intakes.
test.skipIf(!seaweedFsAvailable())('a bucket has each event once although the shipper was killed', () =>
  killed(inSeaweedFs),
)

test('a container has each event once although the shipper was killed', () => killed(inAzurite))
