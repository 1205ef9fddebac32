import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import { tryStore } from '../../../src/sinks/objects/trial.ts'
import type { S3SinkConfig } from '../../../src/sinks/s3/config.ts'
import { s3 } from '../../../src/sinks/s3/store.ts'
import { openObjectSink } from '../../../src/sinks/stores.ts'
import { type Fault, fakeKey, type FakeBucket, startFakeBucket } from '../../setup/fake-bucket.ts'
import { buildEvents, contractFormat, StreamLedger, streamOf } from '../file/samples.ts'
import { keepInternalEvents, named } from '../internal-events.ts'
import { listed, storeClient } from '../objects/store-client.ts'

const never = new AbortController().signal
const kind = { contentType: 'application/x-ndjson', metadata: { digest: 'abc' } }

function clientOf(endpoint: string, changes: Partial<S3SinkConfig> = {}) {
  const sink = { bucket: 'waf', prefix: 'shield/', region: 'eu-central-1', endpoint, timeoutSeconds: 10 }
  return storeClient({ ...sink, ...fakeKey }, changes)
}

async function place(changes: Partial<S3SinkConfig> = {}) {
  const fake = await startFakeBucket()
  return { fake, ...clientOf(fake.url, changes) }
}

/** These faults one after the other, then none. */
function faults(fake: FakeBucket, ...given: Fault[]): void {
  fake.fault = () => given.shift()
}

test('writes, looks at, reads, lists and removes an object, whatever its key', async () => {
  const { fake, client, internalEvents } = await place()
  const keys = [
    "shield/shield_zone=1/a +b%é(1)!*'~@.txt",
    'shield/shield_zone=1/b',
    'shield/shield_zone=1/c',
    'shield/shield_zone=2/&<d>',
  ]
  for (const key of keys) expect(await client.create(key, Buffer.from(key), kind, never)).toBe('created')
  expect(await client.create(keys[0]!, Buffer.from('second'), kind, never)).toBe('exists')
  expect([...fake.objects.keys()]).toEqual(keys)
  expect(fake.objects.get(keys[0]!)).toMatchObject(kind)
  expect(await client.head(keys[0]!, never)).toEqual({
    bytes: Buffer.byteLength(keys[0]!),
    metadata: { digest: 'abc' },
  })
  expect(String(await client.get(keys[3]!, never))).toBe(keys[3])
  const all = await listed(client, 'shield/')
  expect(all).toEqual(keys.toSorted())
  await client.remove(keys[1]!, never)
  expect(await client.head(keys[1]!, never)).toBeUndefined()
  expect(await client.get(keys[1]!, never)).toBeUndefined()
  expect(named(internalEvents, 'SinkAnswered').every(({ outcome }) => outcome === 'ok')).toBe(true)
})

test.each<[string, Fault]>([
  ['409', { status: 409, code: 'ConditionalRequestConflict' }],
  ['a connection that closes before the body is read', 'closed'],
  ['an answer that is lost', 'lost answer'],
])('leaves it to the caller to look after %s', async (_what, fault) => {
  const { fake, client } = await place()
  faults(fake, fault)
  expect(await client.create('k', Buffer.alloc(100_000), kind, never)).toBe('unknown')
  expect((await client.head('k', never)) !== undefined).toBe(fault === 'lost answer')
})

test('leaves it to the caller to look after an answer that comes too late', async () => {
  const { fake, client } = await place({ timeoutSeconds: 0.2 })
  const { promise, resolve } = Promise.withResolvers<void>()
  faults(fake, promise)
  expect(await client.create('k', Buffer.from('late'), kind, never)).toBe('unknown')
  resolve()
})

test.each([
  { status: 503, code: 'SlowDown' },
  { status: 429, code: 'TooManyRequests' },
  { status: 500, code: 'InternalError' },
  { status: 400, code: 'BadDigest' },
])('tries again after $status $code', async (fault) => {
  const { fake, client } = await place()
  faults(fake, fault)
  expect(await client.create('k', Buffer.from('x'), kind, never)).toBe('created')
  expect(fake.requests).toHaveLength(2)
  fake.fault = () => fault
  await expect(client.get('k', never)).rejects.toMatchObject({ kind: 'retry' })
})

test('without conditions, looks whether a try that failed has written before it sends another', async () => {
  const { fake, client } = await place({ guarantee: 'at-least-once' })
  const given: Fault[] = [{ status: 500 }, { status: 503, code: 'SlowDown', isWritten: true }]
  fake.fault = ({ method }) => (method === 'PUT' ? given.shift() : undefined)
  expect(await client.create('k', Buffer.from('x'), kind, never)).toBe('unknown')
  expect(fake.requests.map(({ method }) => method)).toEqual(['PUT', 'HEAD', 'PUT', 'HEAD'])
})

test('waits as long as the service asks for, and no longer in the request', async () => {
  const { fake, client } = await place()
  fake.fault = () => ({ status: 503, code: 'SlowDown', headers: { 'retry-after': '60' } })
  await expect(client.create('k', Buffer.from('x'), kind, never)).rejects.toMatchObject({
    kind: 'wait',
    code: 'throttled',
  })
  expect(fake.requests).toHaveLength(1)
})

test.each<[string, Fault, RegExp]>([
  ['a wrong clock', { status: 403, code: 'RequestTimeTooSkewed' }, /set this host's clock/],
  [
    'another region, in the answer',
    { status: 400, code: 'AuthorizationHeaderMalformed', more: '<Region>us-west-2</Region>' },
    /set region to us-west-2/,
  ],
  [
    'another region, in a header',
    { status: 301, code: 'PermanentRedirect', headers: { 'x-amz-bucket-region': 'ap-south-1' } },
    /set region to ap-south-1/,
  ],
  ['an expired token', { status: 400, code: 'ExpiredToken' }, /session token has expired: renew it/],
  ['an unknown key', { status: 403, code: 'InvalidAccessKeyId' }, /check accessKeyId/],
  ['no bucket', { status: 404, code: 'NoSuchBucket' }, /create the bucket, or check bucket/],
  ['a missing right', { status: 403, code: 'AccessDenied' }, /s3:PutObject on arn:aws:s3:::waf\/shield\/\*/],
  [
    'a key of KMS',
    { status: 403, code: 'AccessDenied', message: 'not authorized to perform: kms:GenerateDataKey' },
    /check kmsKeyId, and allow these credentials kms:GenerateDataKey/,
  ],
  ['a storage class', { status: 400, code: 'InvalidStorageClass' }, /check storageClass/],
  ['a page', { status: 405 }, /check the sink/],
])('says what to do about %s', async (_what, fault, expected) => {
  const { fake, client } = await place()
  fake.fault = () => fault
  const creating = client.create('shield/k', Buffer.from('x'), kind, never)
  await expect(creating).rejects.toMatchObject({
    kind: 'stop',
    code: 'sink_refuses',
    message: expect.stringMatching(expected),
  })
})

test('says of each request which right is missing', async () => {
  const { fake, client } = await place()
  fake.fault = () => ({ status: 403, code: 'AccessDenied' })
  await expect(client.head('k', never)).rejects.toThrow(
    /allow these credentials s3:GetObject .* and s3:ListBucket on/,
  )
  await expect(listed(client, '')).rejects.toThrow(/s3:ListBucket on arn:aws:s3:::waf$/)
})

test('refuses a listing that does not say where it goes on, and one that goes round', async () => {
  const { fake, client } = await place()
  fake.listing = 'first version'
  for (const key of ['a', 'b']) await client.create(key, Buffer.from(key), kind, never)
  expect(await listed(client, '')).toEqual(['a', 'b'])
  await client.create('c', Buffer.from('c'), kind, never)
  await expect(listed(client, '')).rejects.toThrow('not a listing of such a service: check endpoint')
  fake.listing = 'round'
  await expect(listed(client, '')).rejects.toThrow('the listing does not go on')
})

test('says why the first request of a trial was refused', async () => {
  const { client, settings } = await place({ secretAccessKey: new Secret('wrong') })
  await expect(tryStore(client, settings, s3.otherwise(settings), never)).rejects.toThrow(
    'check secretAccessKey',
  )
})

test('masks the secrets in what a service says', async () => {
  const { fake, client } = await place()
  fake.fault = () => ({ status: 403, code: 'X', message: `no ${fakeKey.secretAccessKey} here` })
  await expect(client.get('k', never)).rejects.toThrow(/^(?!.*fake\/secret).*no \*\*\* here/)
})

test('reads a refused key again, and uses the new one', async () => {
  const fake = await startFakeBucket()
  let inFile = 'old'
  let idInFile = fakeKey.accessKeyId
  const secret = new Secret('old', () => inFile)
  const id = new Secret(idInFile, () => idInFile)
  const { client } = clientOf(fake.url, { secretAccessKey: secret, accessKeyId: id })
  await expect(client.get('k', never)).rejects.toThrow('check secretAccessKey')
  idInFile = 'two\nlines'
  await expect(client.get('k', never)).rejects.toThrow('accessKeyId is empty, begins or ends')
  idInFile = fakeKey.accessKeyId
  inFile = fakeKey.secretAccessKey
  expect(await client.create('k', Buffer.from('x'), kind, never)).toBe('created')
})

test('sends a checksum once the bucket has asked for one', async () => {
  const { fake, client } = await place()
  fake.needsChecksum = true
  expect(await client.create('a', Buffer.from('x'), kind, never)).toBe('created')
  expect(await client.create('b', Buffer.from('y'), kind, never)).toBe('created')
  expect(fake.requests).toHaveLength(3)
})

test('sends storage class and encryption', async () => {
  const { fake, client } = await place({ storageClass: 'STANDARD_IA', sse: 'aws:kms', kmsKeyId: 'alias/waf' })
  await client.create('k', Buffer.from('x'), kind, never)
  expect(fake.requests[0]!.headers).toMatchObject({
    'x-amz-storage-class': 'STANDARD_IA',
    'x-amz-server-side-encryption': 'aws:kms',
    'x-amz-server-side-encryption-aws-kms-key-id': 'alias/waf',
  })
})

test.each([
  [{ endpoint: null, bucket: 'waf' }, 's3://waf/shield/'],
  [{ endpoint: 'https://s3.example:9000/base' }, 'https://s3.example:9000/base/waf/shield/'],
  [{ endpoint: 'https://s3.example', pathStyle: false }, 'https://waf.s3.example/shield/'],
])('its address for %j', (changes, address) => {
  expect(clientOf('https://s3.example', changes).client.address).toBe(address)
})

test('a bucket that creates objects only where the key is free passes the trial, and nothing is left there', async () => {
  const { fake, client, settings } = await place()
  expect(await tryStore(client, settings, s3.otherwise(settings), never)).toEqual({
    found: 'created objects only where the key was free, and one of 8 at once',
  })
  expect(fake.objects.size).toBe(0)
  expect(fake.requests.every(({ key }) => key.startsWith('shield/_shieldlog/try/'))).toBe(true)
})

test.each([
  ['ignored', /replaces objects although it is asked to create them only/],
  ['unsupported', /does not implement conditional writes/],
  ['raced', /let \d of 8 create one object at the same time/],
] as const)(
  'a bucket whose conditions are %s is refused, with the name of the service and a remedy',
  async (conditions, problem) => {
    const { fake, client, settings } = await place()
    fake.conditions = conditions
    // So that all requests look whether the key is free before one has written it.
    const racing = Promise.withResolvers<void>()
    let racers = 0
    fake.fault = ({ method, key }) => {
      if (conditions !== 'raced' || method !== 'PUT' || !key.includes('-race')) return undefined
      if (++racers === 8) racing.resolve()
      return racing.promise
    }
    const known = { ...settings, endpoint: 'https://s3.eu-central-003.backblazeb2.com' }
    const error = await tryStore(client, known, s3.otherwise(known), never).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ kind: 'stop', message: expect.stringMatching(problem) })
    expect(error).toMatchObject({ message: expect.stringContaining('Backblaze B2 is known for it') })
    expect(error).toMatchObject({ message: expect.stringContaining('or set guarantee: at-least-once') })
    expect(fake.objects.size).toBe(0)
  },
)

test('a bucket that ignores conditions gets no object at the first start, and one once it keeps them', async () => {
  const { fake, settings } = await place()
  fake.conditions = 'ignored'
  const deps = { clock: systemClock, version: '1.2.3', format: contractFormat, ...keepInternalEvents() }
  const sink = openObjectSink(settings, { ...deps, output: process.stdout })
  onTestFinished(() => sink.close())
  const ledger = new StreamLedger(streamOf(sink, 101))
  await expect(ledger.ship(sink, buildEvents(1))).rejects.toMatchObject({
    kind: 'stop',
    code: 'sink_refuses',
  })
  expect(fake.objects.size).toBe(0)
  fake.conditions = 'kept'
  await ledger.ship(sink, buildEvents(1))
  expect(ledger.objects).toBe(1)
})

test('with at-least-once the trial asks for no condition', async () => {
  const { fake, client, settings } = await place({ guarantee: 'at-least-once' })
  fake.conditions = 'unsupported'
  expect(await tryStore(client, settings, s3.otherwise(settings), never)).toMatchObject({
    found: expect.stringContaining('at-least-once'),
  })
})

test('a lost answer does not fail the trial', async () => {
  const { fake, client, settings } = await place()
  let puts = 0
  fake.fault = ({ method }) =>
    method === 'PUT' && ++puts <= 2 ? (puts === 1 ? 'lost answer' : 'closed') : undefined
  expect(await tryStore(client, settings, s3.otherwise(settings), never)).toMatchObject({
    found: expect.stringContaining('only where'),
  })
})

test('the trial says what it could not remove', async () => {
  const { fake, client, settings } = await place()
  fake.fault = ({ method }) => (method === 'DELETE' ? { status: 403, code: 'AccessDenied' } : undefined)
  const { note } = await tryStore(client, settings, s3.otherwise(settings), never)
  expect(note).toMatch(/stays there, and is not needed: shield\/_shieldlog\/try\/.*s3:DeleteObject/)
})
