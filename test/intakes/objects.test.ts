import { beforeAll, describe, expect, test } from 'vitest'
import { dayOf, shiftDay } from '../../src/domain/day.ts'
import { tryStore } from '../../src/sinks/objects/trial.ts'
import { readableDays } from '../e2e/workplace.ts'
import type { TestProcess } from '../setup/processes.ts'
import { listed, storeClient } from '../sinks/objects/store-client.ts'
import { testExactlyOnce } from './kills.ts'
import { idsOf, perDay, placeFor } from './place.ts'
import {
  bucketSink,
  createLockedBucket,
  eventsIn,
  expectEachOnce,
  lackingRights,
  versionsIn,
} from './servers/bucket.ts'
import { seaweedFs } from './servers/seaweedfs.ts'
import { versitygw } from './servers/versitygw.ts'

const never = new AbortController().signal
const kind = { contentType: 'application/x-ndjson', metadata: { digest: 'abc' } }

describe.each([seaweedFs, versitygw])('$name', ({ start }) => {
  let url: string
  let freshBucket: () => Promise<string>
  let process: TestProcess
  let keyWith: Awaited<ReturnType<typeof start>>['keyWith']

  beforeAll(async () => {
    const server = await start()
    let buckets = 0
    url = server.url
    process = server.process
    keyWith = (bucket, rights) => server.keyWith(bucket, rights)
    freshBucket = async () => {
      const name = `bucket-${++buckets}`
      await server.createBucket(name)
      return name
    }
  })

  test('takes keys of any form, gives objects and metadata back, and lists them', async () => {
    const { client } = storeClient(bucketSink(url, await freshBucket()))
    const keys = [
      'shield/shield_zone=1/day=2026-11-23/a-000001.ndjson.gz',
      "shield/shield_zone=1/b +%é(1)!*'~@",
    ]
    for (const key of keys) {
      expect(await client.create(key, Buffer.from(key), kind, never)).toBe('created')
      expect(await client.head(key, never)).toEqual({
        bytes: Buffer.byteLength(key),
        metadata: kind.metadata,
      })
      expect(String(await client.get(key, never))).toBe(key)
    }
    expect((await listed(client, 'shield/')).toSorted()).toEqual(keys.toSorted())
    expect(await client.head('shield/none', never)).toBeUndefined()
    expect(await client.get('shield/none', never)).toBeUndefined()
  })

  test('passes the trial: of eight at once one creates an object', async () => {
    const sink = bucketSink(url, await freshBucket())
    const { client, settings } = storeClient(sink)
    for (let round = 0; round < 5; round++)
      expect(await tryStore(client, settings, 'use another', never)).toEqual({
        found: 'created objects only where the key was free, and one of 8 at once',
      })
  })

  test('of eight large objects of one key one is created, whether the others get an answer or not', async () => {
    const { client } = storeClient(bucketSink(url, await freshBucket()))
    const bodies = Array.from({ length: 8 }, (_, index) => Buffer.alloc(5_000_000, index))
    const made = await Promise.all(bodies.map((body) => client.create('shield/k', body, kind, never)))
    expect(made.filter((each) => each === 'created')).toHaveLength(1)
    expect((await client.get('shield/k', never))!.equals(bodies[made.indexOf('created')]!)).toBe(true)
    for (const body of bodies) expect(await client.create('shield/k', body, kind, never)).not.toBe('created')
  })

  test.each([
    [{ secretAccessKey: 'wrong-secret' }, /check secretAccessKey/],
    [{ accessKeyId: 'wrong-key' }, /check accessKeyId/],
    [{ bucket: 'no-such-bucket' }, /create the bucket, or check bucket/],
  ])('says what to do with %j', async (changes, expected) => {
    const { client } = storeClient(bucketSink(url, await freshBucket(), changes))
    await expect(client.create('shield/k', Buffer.from('x'), kind, never)).rejects.toThrow(expected)
  })

  test.each(lackingRights)('with %s and %s alone names the right that is missing', async (...rights) => {
    const bucket = await freshBucket()
    const { client: owner } = storeClient(bucketSink(url, bucket))
    await owner.create('shield/there', Buffer.from('x'), kind, never)
    const { client } = storeClient(bucketSink(url, bucket, { accessKeyId: await keyWith(bucket, rights) }))
    const asked = {
      's3:PutObject': () => client.create('shield/k', Buffer.from('x'), kind, never),
      's3:GetObject': () => client.get('shield/there', never),
      's3:ListBucket': () => listed(client, 'shield/'),
    }
    for (const [right, ask] of Object.entries(asked)) {
      if (rights.some((each) => each === right)) await ask()
      else await expect(ask()).rejects.toThrow(new RegExp(`allow these credentials ${right} on arn`))
    }
  })

  test.each([{ compress: 'gzip' }, { file: 'parquet' }])(
    'repairs an object that is gone, and is a source of backfill and top: %j',
    async (form) => {
      const sink = bucketSink(url, await freshBucket(), { everySeconds: 0.5, ...form })
      const { client } = storeClient(sink)
      const old = shiftDay(dayOf(Date.now()), -8)
      const days = Object.fromEntries([old, ...readableDays()].map((day) => [day, perDay]))
      const place = await placeFor(sink, { days, readableDays: 9 })
      await place.once()
      const first = (await listed(client, 'shield/')).find((key) => key.startsWith('shield/shield_zone='))
      await client.remove(first!, never)
      const audited = await place.ended(['audit', '--deep'])
      expect(audited.code, audited.stdout + audited.stderr).toBe(1)
      const repaired = await place.ended(['audit', '--deep', '--repair'])
      expect(repaired.code, repaired.stdout + repaired.stderr).toBe(0)
      expectEachOnce(await eventsIn(client), idsOf(place))
      const again = await place.ended(['audit', '--deep'])
      expect(again.code, again.stdout + again.stderr).toBe(0)
      const counted = await place.ended(['top', '--source', 'siem', '--since', '72h'])
      expect(counted.code, counted.stdout + counted.stderr).toBe(0)
      const range = ['--from', old, '--to', old]
      const shipped = await place.ended(['backfill', ...range])
      expect(shipped.code, shipped.stdout + shipped.stderr).toBe(0)
      // Days that the API has are read there.
      place.simulator.set({ readableDays: 3 })
      const copy = { name: 'copy', type: 'file', path: place.events }
      place.configure({ sinks: [{ name: 'siem', ...sink }, copy] })
      const filled = await place.ended(['backfill', ...range, '--sink', 'copy', '--source', 'siem'])
      expect(filled.code, filled.stdout + filled.stderr).toBe(0)
      expect(filled.stdout).toContain(' events shipped, 0 already there, in ')
    },
  )

  test('ships into a bucket with Object Lock: what check wrote stays there, as versions', async () => {
    const name = `locked-${Math.random().toString(36).slice(2)}`
    await createLockedBucket(url, name)
    const sink = bucketSink(url, name, { everySeconds: 0.5 })
    const { client } = storeClient(sink)
    const place = await placeFor(sink)
    const checked = await place.ended(['check'])
    expect(checked.code, checked.stdout + checked.stderr).toBe(0)
    // Eight at once, one created, and one alone; a removal hides an object.
    expect(await versionsIn(url, name)).toEqual({ versions: 2, markers: 2 })
    const { code, stderr } = await place.once()
    expect(code, stderr).toBe(0)
    expectEachOnce(await eventsIn(client), idsOf(place))
    const audited = await place.ended(['audit', '--deep'])
    expect(audited.code, audited.stdout + audited.stderr).toBe(0)
  })

  testExactlyOnce(
    async () => {
      const sink = bucketSink(url, await freshBucket())
      return { sink, client: storeClient(sink).client }
    },
    () => process,
  )
})
