import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import type { AzureBlobSinkConfig } from '../../../src/sinks/azure-blob/config.ts'
import { azureBlob } from '../../../src/sinks/azure-blob/store.ts'
import type { ObjectStore } from '../../../src/sinks/objects/store.ts'
import { tryStore } from '../../../src/sinks/objects/trial.ts'
import { openObjectSink } from '../../../src/sinks/stores.ts'
import { contractFormat, idOf, sinkContract } from '../../contract/sink.contract.ts'
import { type Azurite, azuriteKey, relayTo, sasOf, startAzurite } from '../../setup/azurite.ts'
import type { Fault } from '../../setup/fake-bucket.ts'
import { keepInternalEvents, named } from '../internal-events.ts'
import { listed, storeClient } from '../objects/store-client.ts'

const never = new AbortController().signal
const kind = { contentType: 'application/x-ndjson', metadata: { shieldlogdigest: 'abc' } }
const otherKey = Buffer.alloc(64, 1).toString('base64')

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite()
})

const clientOf = (sink: object, changes: Partial<AzureBlobSinkConfig> = {}) =>
  storeClient<AzureBlobSinkConfig>(sink, changes)

/** A container of its own. */
async function place(changes: object = {}) {
  const sink = { ...(await azurite.freshContainer()), ...changes }
  return { sink, ...clientOf(sink) }
}

/** The same, with a relay in between. */
async function relayed(changes: object = {}) {
  const given = await azurite.freshContainer()
  const relay = await relayTo(given.endpoint)
  const sink = { ...given, endpoint: relay.endpoint, ...changes }
  return { relay, sink, ...clientOf(sink) }
}

/** With a shared access signature of these permissions in place of the key, and one who may do all. */
async function placeWithSas(permissions: string) {
  const { key: _key, ...sink } = await azurite.freshContainer()
  const sas = sasOf(sink.container, permissions)
  return { ...clientOf({ ...sink, sas }), owner: clientOf({ ...sink, ...azuriteKey }).client }
}

const tried = ({ client, settings }: { client: ObjectStore; settings: AzureBlobSinkConfig }) =>
  tryStore(client, settings, azureBlob.otherwise(settings), never)
const passed = 'created objects only where the key was free, and one of 8 at once'

sinkContract('objects in Azure Blob Storage', { canFail: true, canHang: true }, async (gate) => {
  const { relay, client, settings } = await relayed({ prefix: 'waf/' })
  relay.fault = () => gate.pass()
  const deps = { clock: systemClock, version: '1.2.3', format: contractFormat, ...keepInternalEvents() }
  const random = () => 0
  return {
    sink: openObjectSink(settings, { ...deps, output: process.stdout, random }),
    async received() {
      const bodies = []
      for (const key of await listed(client, 'waf/shield_zone=')) bodies.push(await client.get(key, never))
      const texts = bodies.map((body) => gunzipSync(body!).toString().split('\n').slice(0, -1))
      return texts.flat().map(idOf)
    },
    async fail() {
      const { fault } = relay
      relay.fault = () => ({ status: 503, code: 'ServerBusy' })
      return () => (relay.fault = fault)
    },
    dispose: async () => undefined,
  }
})

test.each(['key', 'sas'])(
  'writes, looks at, reads, lists and removes an object, whatever its key: with %s',
  async (by) => {
    const { client, internalEvents } = by === 'key' ? await place() : await placeWithSas('rcld')
    const keys = [
      "shield/shield_zone=1/a +b%é(1)!*'~@.txt",
      'shield/shield_zone=1/b',
      'shield/shield_zone=1/c=?#',
      'shield/shield_zone=2/&<d>"',
    ]
    for (const key of keys) expect(await client.create(key, Buffer.from(key), kind, never)).toBe('created')
    expect(await client.create(keys[0]!, Buffer.from('second'), kind, never)).toBe('exists')
    for (const key of keys) {
      expect(await client.head(key, never)).toEqual({
        bytes: Buffer.byteLength(key),
        metadata: kind.metadata,
      })
      expect(String(await client.get(key, never))).toBe(key)
    }
    expect(await listed(client, 'shield/')).toEqual(keys.toSorted())
    expect(await listed(client, 'shield/shield_zone=1/')).toEqual(keys.slice(0, 3))
    await client.remove(keys[1]!, never)
    await client.remove(keys[1]!, never)
    expect(await client.head(keys[1]!, never)).toBeUndefined()
    expect(await client.get(keys[1]!, never)).toBeUndefined()
    expect(named(internalEvents, 'SinkAnswered').every(({ outcome }) => outcome === 'ok')).toBe(true)
  },
)

test('lists page by page', async () => {
  const { key: _key, ...sink } = await azurite.freshContainer()
  const relay = await relayTo(sink.endpoint)
  // Its signature does not cover what the relay adds.
  const sas = sasOf(sink.container, 'rcl')
  const { client } = clientOf({ ...sink, endpoint: relay.endpoint, sas })
  const keys = ['a +b', 'b', 'c&', 'd', 'é'].map((each) => `shield/${each}`)
  for (const key of keys) await client.create(key, Buffer.from('x'), kind, never)
  relay.ofListings = '&maxresults=2'
  relay.requests.length = 0
  expect(await listed(client, 'shield/')).toEqual(keys)
  expect(relay.requests).toHaveLength(3)
})

test('of fifty objects of one key one is created, and the others find it there', async () => {
  const { client } = await place()
  for (const bytes of [1, 1_000, 150_000]) {
    const key = `shield/${bytes}`
    const bodies = Array.from({ length: 50 }, (_, index) => Buffer.alloc(bytes, index))
    const made = await Promise.all(bodies.map((body) => client.create(key, body, kind, never)))
    expect(made.filter((each) => each === 'created')).toHaveLength(1)
    expect(made.filter((each) => each === 'exists')).toHaveLength(49)
    expect((await client.get(key, never))!.equals(bodies[made.indexOf('created')]!)).toBe(true)
  }
})

test('sends the MD5 of an object, and sends it again where the bytes changed on the way', async () => {
  const { relay, client } = await relayed()
  const given: Fault[] = [{ status: 400, code: 'Md5Mismatch' }]
  relay.fault = () => given.shift()
  const body = Buffer.from('x')
  expect(await client.create('shield/k', body, kind, never)).toBe('created')
  expect(relay.requests).toHaveLength(2)
  const digest = createHash('md5').update(body).digest('base64')
  expect(relay.requests.map(({ headers }) => headers['content-md5'])).toEqual([digest, digest])
})

test.each<[string, Fault, boolean]>([
  ['an answer that is lost', 'lost answer', true],
  ['a time limit of the service', { status: 500, code: 'OperationTimedOut', isWritten: true }, true],
  ['a connection that closes before the body is read', 'closed', false],
  ['409 for another reason than that the key is taken', { status: 409, code: 'BlobBeingRehydrated' }, false],
])('leaves it to the caller to look after %s', async (_what, fault, isThere) => {
  const { relay, client } = await relayed()
  const given = [fault]
  relay.fault = () => given.shift()
  expect(await client.create('shield/k', Buffer.alloc(100_000), kind, never)).toBe('unknown')
  expect((await client.head('shield/k', never)) !== undefined).toBe(isThere)
})

test('passes the trial, and leaves nothing there', async () => {
  const own = await place()
  expect(await tried(own)).toEqual({ found: passed })
  expect(await listed(own.client, '')).toEqual([])
})

test.each(['rcl', 'rc', 'rw', 'rcw'])(
  'a signature with the permissions %s passes the trial, which says what it could not remove',
  async (permissions) => {
    const own = await placeWithSas(permissions)
    const { found, note } = await tried(own)
    expect(found).toBe(passed)
    expect(note).toMatch(
      /stays there, and is not needed: shield\/_shieldlog\/try\/.*the permission delete \(d\)/,
    )
  },
)

test('a signature that may create and not overwrite finds whose object has the key', async () => {
  const { client, owner } = await placeWithSas('rc')
  await owner.create('shield/k', Buffer.from('theirs'), kind, never)
  expect(await client.create('shield/k', Buffer.from('own'), kind, never)).toBe('exists')
  expect(String(await owner.get('shield/k', never))).toBe('theirs')
})

test.each([
  ['c', 'read (r)'],
  ['cl', 'read (r)'],
  ['rl', 'create (c)'],
])('a signature with the permissions %s fails the trial, which names %s', async (permissions, missing) => {
  const own = await placeWithSas(permissions)
  await expect(tried(own)).rejects.toMatchObject({
    kind: 'stop',
    code: 'sink_refuses',
    message: expect.stringMatching(
      `give these credentials the permission ${missing.replaceAll(/[()]/g, '\\$&')}$`,
    ),
  })
})

test('says that listing needs a permission, too', async () => {
  const { client } = await placeWithSas('rc')
  await expect(listed(client, '')).rejects.toThrow(/the permission list \(l\)$/)
})

test.each<[string, (container: string) => object, RegExp]>([
  ['another key', () => ({ key: otherKey }), /check account, and key or sas/],
  ['another account', () => ({ ...azuriteKey, account: 'another' }), /check account, and key or sas/],
  [
    'no container',
    () => ({ ...azuriteKey, container: 'none' }),
    /create the container, or check account, container/,
  ],
  [
    'a signature of another container',
    () => ({ sas: sasOf('other', 'rcl') }),
    /check account, and key or sas/,
  ],
  [
    'a damaged signature',
    (name) => ({ sas: sasOf(name, 'rcl').replace('sig=', 'sig=AA') }),
    /check account, and key/,
  ],
  [
    'a signature that has ended',
    (name) => ({ sas: sasOf(name, 'rcl', Date.UTC(2025, 10, 20)) }),
    /sas has expired at 2025-11-20T00:00:00Z: make a new one/,
  ],
])('says what to do about %s, to every request', async (_what, changes, expected) => {
  const { key: _key, ...sink } = await azurite.freshContainer()
  const { client, settings } = clientOf({ ...sink, ...changes(sink.container) })
  const asked = [
    () => client.create('shield/k', Buffer.from('x'), kind, never),
    () => client.head('shield/k', never),
    () => client.get('shield/k', never),
    () => client.remove('shield/k', never),
    () => listed(client, ''),
    () => tried({ client, settings }),
  ]
  for (const ask of asked)
    await expect(ask()).rejects.toMatchObject({
      kind: 'stop',
      code: 'sink_refuses',
      message: expect.stringMatching(expected),
    })
})

test.each<[string, Fault, RegExp]>([
  [
    'a wrong clock',
    {
      status: 403,
      code: 'AuthenticationFailed',
      more: "<AuthenticationErrorDetail>Request date header too old: 'x'</AuthenticationErrorDetail>",
    },
    /set this host's clock/,
  ],
  [
    'a signature that does not hold yet',
    {
      status: 403,
      code: 'AuthenticationFailed',
      more: '<AuthenticationErrorDetail>Signature not valid in the specified time frame: Start</AuthenticationErrorDetail>',
    },
    /not valid now: make a new one/,
  ],
  [
    'a network rule',
    { status: 403, code: 'AuthorizationFailure' },
    /a network rule of the account refuses this host/,
  ],
  ['an account without keys', { status: 403, code: 'KeyBasedAuthenticationNotPermitted' }, /takes no keys/],
  [
    'a container that is being deleted',
    { status: 409, code: 'ContainerBeingDeleted' },
    /being deleted: wait/,
  ],
  ['HTTP', { status: 400, code: 'AccountRequiresHttps' }, /begin endpoint with https/],
  [
    'a redirect',
    { status: 302, headers: { location: 'https://login.example' } },
    /check endpoint: redirects/,
  ],
  ['a page', { status: 404 }, /create the container, or check account, container and endpoint/],
  ['another page', { status: 405 }, /check the sink/],
])('says what to do about %s', async (_what, fault, expected) => {
  const { relay, client } = await relayed()
  relay.fault = () => fault
  for (const asking of [
    client.create('shield/k', Buffer.from('x'), kind, never),
    client.get('shield/k', never),
  ])
    await expect(asking).rejects.toMatchObject({ kind: 'stop', message: expect.stringMatching(expected) })
})

test('masks key and signature in what a service says', async () => {
  const sas = sasOf('waf', 'rcl')
  const sig = new URLSearchParams(sas).get('sig')!
  const lower = (text: string) => text.replaceAll(/%[\dA-F]{2}/g, (hex) => hex.toLowerCase())
  for (const [own, secrets] of [
    [{ key: otherKey }, [otherKey]],
    [{ sas: `?${sas}` }, [sig, encodeURIComponent(sig)]],
    [{ sas: lower(sas) }, [sig, lower(encodeURIComponent(sig))]],
  ] as const) {
    const { key: _key, ...sink } = await azurite.freshContainer()
    const relay = await relayTo(sink.endpoint)
    relay.fault = () => ({ status: 403, code: 'X', message: `no ${secrets.join(' ')} here` })
    const { client } = clientOf({ ...sink, endpoint: relay.endpoint, ...own })
    const { message } = (await client.get('k', never).catch((error: unknown) => error)) as Error
    expect(message).toContain(`no ${secrets.map(() => '***').join(' ')} here`)
  }
})

test.each([
  ['key', otherKey, () => azuriteKey.key],
  ['sas', sasOf('waf-x', 'rcl'), (container: string) => sasOf(container, 'rcl')],
] as const)('reads a refused %s again, and uses the new one', async (field, old, next) => {
  const { key: _key, ...sink } = await azurite.freshContainer()
  let inFile: string = old
  const secret = new Secret(old, () => inFile)
  const { client } = clientOf({ ...sink, key: otherKey }, { key: undefined, [field]: secret })
  await expect(client.get('k', never)).rejects.toThrow('check account, and key or sas')
  inFile = 'not one'
  await expect(client.get('k', never)).rejects.toThrow(`${field} is not`)
  inFile = next(sink.container)
  expect(await client.create('k', Buffer.from('x'), kind, never)).toBe('created')
})

test.each([
  [
    { endpoint: null, account: 'wafevents', container: 'waf' },
    'https://wafevents.blob.core.windows.net/waf/shield/',
  ],
  [
    { endpoint: 'https://wafevents.blob.core.chinacloudapi.cn/', container: 'waf' },
    'https://wafevents.blob.core.chinacloudapi.cn/waf/shield/',
  ],
])('its address for %j', (changes, address) => {
  const sink = { type: 'azure-blob', ...azuriteKey, container: 'waf', prefix: 'shield/' }
  expect(clientOf(sink, changes).client.address).toBe(address)
})
