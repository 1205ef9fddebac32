import { beforeAll, describe, expect, test } from 'vitest'
import { tryStore } from '../../src/sinks/objects/trial.ts'
import { readableDays, zones } from '../e2e/workplace.ts'
import type { TestProcess } from '../setup/processes.ts'
import { startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { listed, storeClient } from '../sinks/objects/store-client.ts'
import { expectOnceDespiteKills, shippers } from './kills.ts'
import { idsOf, placeFor } from './place.ts'
import {
  bucketSink,
  createLockedBucket,
  eventsIn,
  expectEachOnce,
  lackingRights,
  objectsIn,
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

  test('repairs an object that is gone, and is a source of backfill and top', async () => {
    const sink = bucketSink(url, await freshBucket(), { everySeconds: 0.5 })
    const { client } = storeClient(sink)
    const place = await placeFor(sink)
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
    const copy = { name: 'copy', type: 'file', path: place.events }
    place.configure({ sinks: [{ name: 'siem', ...sink }, copy] })
    const days = readableDays()
    const range = ['--from', days[0], '--to', days[2], '--sink', 'copy', '--source', 'siem']
    const filled = await place.ended(['backfill', ...range])
    expect(filled.code, filled.stdout + filled.stderr).toBe(0)
    expect(filled.stdout).toContain(' events shipped, 0 already there, in ')
  })

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

  test.each(shippers)(
    'has each event once although the shippers were killed again and again: %s',
    async (_what, kills, redis) => {
      const sink = bucketSink(url, await freshBucket(), { everySeconds: 0.2, maxBytes: 65_536 })
      await expectOnceDespiteKills(sink, storeClient(sink).client, kills, redis)
    },
    1_800_000,
  )

  test('has each event once although workers over Redis and the server froze, one after the other', async () => {
    const sink = bucketSink(url, await freshBucket(), {
      everySeconds: 0.2,
      timeoutSeconds: 2,
      maxBytes: 65_536,
    })
    const { client } = storeClient(sink)
    const { url: redis, keyPrefix } = await startRedis()
    const state = { redis: { url: redis, keyPrefix } }
    const place = await placeFor(sink, { days: 20 }, { server: { port: 0 }, state })
    const workers = [place.start(['run']), place.start(['run'])]
    const said = () => workers.map((worker) => worker.stderr()).join('')
    const untilMore = async (objects: number) =>
      await waitFor(async () => (await objectsIn(client)) > objects, {
        // Another worker takes the streams of a frozen one over within a minute.
        timeoutMs: 180_000,
        everyMs: 1,
        what: () => `an object: ${said()}`,
      })
    for (const frozen of workers) {
      for (const zone of zones) place.simulator.append(zone, readableDays()[2], 200)
      await untilMore(await objectsIn(client))
      await frozen.kill('SIGSTOP')
      // Whichever it was that had the stream: the other one gets to all of it.
      await waitFor(async () => new Set((await eventsIn(client)).ids).size === idsOf(place).length, {
        timeoutMs: 180_000,
        everyMs: 500,
        what: () => `all events: ${said()}`,
      })
      await frozen.kill('SIGCONT')
    }
    const timeouts = () => said().split('"code":"timeout"').length
    for (const zone of zones) place.simulator.append(zone, readableDays()[2], 200)
    const before = timeouts()
    await untilMore(await objectsIn(client))
    await process.kill('SIGSTOP')
    await waitFor(() => timeouts() > before, { what: () => `a request that times out: ${said()}` })
    await process.kill('SIGCONT')
    for (const worker of workers) expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    const { code, stderr } = await place.once()
    expect(code, stderr).toBe(0)
    expectEachOnce(await eventsIn(client), idsOf(place))
  }, 1_800_000)
})
