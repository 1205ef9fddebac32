import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/domain/text/secret.ts'
import type { AzureBlobSinkConfig } from '../../../src/sinks/azure-blob/config.ts'
import { tokenSourceOf } from '../../../src/sinks/azure-blob/identities.ts'
import { openStore } from '../../../src/sinks/stores.ts'
import { type Azurite, azuriteKey, startAzurite } from '../../setup/azurite.ts'
import { bodyOf, serveHttp } from '../../setup/http-server.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { keepInternalEvents } from '../internal-events.ts'
import { storeClient } from '../objects/store-client.ts'

const never = new AbortController().signal
const kind = { contentType: 'text/plain', metadata: {} }

let azurite: Azurite
beforeAll(async () => {
  azurite = await startAzurite({ takesTokens: true })
})

/** Such as Entra makes it, for so long. Azurite reads it, and does not verify its signature. */
function tokenFor(seconds: number, audience = 'https://storage.azure.com'): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    aud: audience,
    iss: 'https://sts.windows.net/t-1/',
    iat: now,
    nbf: now - 60,
    exp: now + seconds,
  }
  const parts = [{ alg: 'RS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  return [...parts, Buffer.from(`signature of the token ${Math.random()}`).toString('base64url')].join('.')
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly query: Record<string, string>
  readonly headers: Record<string, unknown>
  readonly form: Record<string, string>
}

interface Told {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: object
}

/** A server of tokens in this process, which the environment names; by default it answers as Entra does. */
async function startLogin() {
  const asked: Asked[] = []
  const login = {
    url: '',
    asked,
    answer: (_asked: Asked): Told => ({ body: { access_token: tokenFor(3600), expires_in: 3599 } }),
  }
  const { url } = await serveHttp(async (request, response) => {
    const { pathname: path, searchParams } = new URL(request.url!, 'http://login')
    const form = Object.fromEntries(new URLSearchParams(await bodyOf(request)))
    const { method = '', headers } = request
    const got = { method, path, query: Object.fromEntries(searchParams), headers: { ...headers }, form }
    asked.push(got)
    const { status = 200, body = {}, headers: more = {} } = login.answer(got)
    response.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(body))
  })
  vi.stubEnv('AZURE_AUTHORITY_HOST', `${url}/`)
  return Object.assign(login, { url })
}

/** The store of such a sink, without key and signature. */
async function clientOf(changes: object, given: Partial<AzureBlobSinkConfig> = {}) {
  const { key: _key, ...sink } = await azurite.freshContainer()
  return storeClient<AzureBlobSinkConfig>({ ...sink, ...changes }, given).client
}

const application = { tenantId: 't-1', clientId: 'c-1', clientSecret: 'the-secret-of-c-1' }
const scope = 'https://storage.azure.com/.default'
const isForm = { 'content-type': 'application/x-www-form-urlencoded' }

// Nothing of the machine that the tests run on.
beforeEach(() => {
  const names =
    'AZURE_FEDERATED_TOKEN_FILE AZURE_TENANT_ID AZURE_CLIENT_ID AZURE_AUTHORITY_HOST IDENTITY_ENDPOINT IDENTITY_HEADER AZURE_POD_IDENTITY_AUTHORITY_HOST'
  for (const name of names.split(' ')) vi.stubEnv(name, undefined)
})

function stubEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
}

test('a client with a secret gets one token for all requests', async () => {
  const login = await startLogin()
  const client = await clientOf(application)
  const keys = ['a', 'b', 'c'].map((each) => `shield/${each}`)
  const made = await Promise.all(keys.map((key) => client.create(key, Buffer.from(key), kind, never)))
  expect(made).toEqual(['created', 'created', 'created'])
  expect(await client.create(keys[0]!, Buffer.from('x'), kind, never)).toBe('exists')
  expect(String(await client.get(keys[0]!, never))).toBe(keys[0])
  const { tenantId, clientId: client_id, clientSecret: client_secret } = application
  expect(login.asked).toMatchObject([
    {
      method: 'POST',
      path: `/${tenantId}/oauth2/v2.0/token`,
      headers: isForm,
      form: { grant_type: 'client_credentials', client_id, client_secret, scope },
    },
  ])
})

test.each([
  [null, '', 'https://login.microsoftonline.com'],
  [null, 'https://login.example/', 'https://login.example'],
  ['https://waf.blob.core.usgovcloudapi.net', '', 'https://login.microsoftonline.us'],
  ['https://waf.blob.core.chinacloudapi.cn/', 'x', 'https://login.partner.microsoftonline.cn'],
  ['https://waf.z1.blob.storage.azure.net', 'https://login.example', 'https://login.example'],
])('for endpoint %s and AZURE_AUTHORITY_HOST "%s", %s issues the tokens', (endpoint, given, authority) => {
  const settings = { ...application, clientSecret: new Secret('s'), endpoint }
  const { url } = tokenSourceOf(settings, { AZURE_AUTHORITY_HOST: given }).request('s')
  expect(url.href).toBe(`${authority}/t-1/oauth2/v2.0/token`)
})

test.each(['login.example', 'http://login.example', 'ftp://127.0.0.1/'])(
  'no secret is sent to %s, which AZURE_AUTHORITY_HOST names',
  async (authority) => {
    const client = await clientOf(application)
    vi.stubEnv('AZURE_AUTHORITY_HOST', authority)
    await expect(client.get('k', never)).rejects.toMatchObject({
      kind: 'stop',
      message: expect.stringMatching(/AZURE_AUTHORITY_HOST is not an https URL: write one such as https:/),
    })
  },
)

test('the workload identity of a pod gets a token for the proof in its file, and for each new one', async () => {
  const login = await startLogin()
  const file = join(temporaryFolder(), 'token')
  writeFileSync(file, 'first-proof\n')
  stubEnvironment({
    AZURE_FEDERATED_TOKEN_FILE: file,
    AZURE_TENANT_ID: 't-1',
    AZURE_CLIENT_ID: 'c-2',
  })
  const client = await clientOf({})
  for (const proof of ['first-proof', 'second-proof']) {
    writeFileSync(file, proof)
    for (const key of ['a', 'b']) await client.create(`shield/${proof}-${key}`, Buffer.from('x'), kind, never)
  }
  const form = {
    grant_type: 'client_credentials',
    client_id: 'c-2',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    scope,
  }
  expect(login.asked).toMatchObject([
    { path: '/t-1/oauth2/v2.0/token', form: { ...form, client_assertion: 'first-proof' } },
    { path: '/t-1/oauth2/v2.0/token', form: { ...form, client_assertion: 'second-proof' } },
  ])
})

test('a workload identity without its file says so, until it is there', async () => {
  await startLogin()
  const file = join(temporaryFolder(), 'token')
  const more = { AZURE_TENANT_ID: 't-1', AZURE_CLIENT_ID: 'c' }
  stubEnvironment({ AZURE_FEDERATED_TOKEN_FILE: file, ...more })
  const client = await clientOf({})
  await expect(client.get('k', never)).rejects.toThrow(
    `cannot read ${file}, which AZURE_FEDERATED_TOKEN_FILE names`,
  )
  writeFileSync(file, 'proof')
  expect(await client.get('k', never)).toBeUndefined()
})

test('the managed identity of a host is asked for without a secret', async () => {
  const login = await startLogin()
  // As text, as a host gives it.
  login.answer = () => ({ body: { access_token: tokenFor(3600), expires_in: '3599' } })
  stubEnvironment({ AZURE_POD_IDENTITY_AUTHORITY_HOST: login.url })
  for (const clientId of [null, 'c-3']) {
    login.asked.length = 0
    const client = await clientOf({ clientId })
    expect(await client.create('shield/k', Buffer.from('x'), kind, never)).toBe('created')
    expect(login.asked).toMatchObject([
      { method: 'GET', path: '/metadata/identity/oauth2/token', headers: { metadata: 'true' } },
    ])
    const query = { 'api-version': '2018-02-01', resource: 'https://storage.azure.com/' }
    expect(login.asked[0]!.query).toEqual({ ...query, ...(clientId !== null && { client_id: clientId }) })
  }
})

test('the managed identity of an app is asked for with the header that the app has', async () => {
  const login = await startLogin()
  login.answer = () => ({
    body: { access_token: tokenFor(3600), expires_on: String(Math.floor(Date.now() / 1000) + 3600) },
  })
  stubEnvironment({ IDENTITY_ENDPOINT: `${login.url}/msi/token`, IDENTITY_HEADER: 'the-header' })
  const client = await clientOf({ clientId: 'c-4' })
  expect(await client.create('shield/k', Buffer.from('x'), kind, never)).toBe('created')
  expect(await client.create('shield/l', Buffer.from('x'), kind, never)).toBe('created')
  const query = { 'api-version': '2019-08-01', resource: 'https://storage.azure.com/', client_id: 'c-4' }
  expect(login.asked).toMatchObject([
    { method: 'GET', path: '/msi/token', headers: { 'x-identity-header': 'the-header' }, query },
  ])
})

test('a token is renewed before it ends', async () => {
  const login = await startLogin()
  let nowMs = Date.now()
  const clock = { ...systemClock, now: () => nowMs }
  const { key: _key, ...sink } = await azurite.freshContainer()
  const { settings } = storeClient<AzureBlobSinkConfig>({ ...sink, ...application })
  const client = openStore(settings, { clock, version: '1.2.3', random: () => 0, ...keepInternalEvents() })
  onTestFinished(() => client.close())
  const askedAfter = async (seconds: number) => {
    nowMs += seconds * 1000
    await client.get('k', never)
    return login.asked.length
  }
  expect(await askedAfter(0)).toBe(1)
  expect(await askedAfter(3599 - 121)).toBe(1)
  expect(await askedAfter(2)).toBe(2)
})

test('a token that the service refuses is renewed once', async () => {
  const login = await startLogin()
  const { answer } = login
  login.answer = (asked) =>
    login.asked.length === 1 ? { body: { access_token: tokenFor(-60), expires_in: 3599 } } : answer(asked)
  const client = await clientOf(application)
  expect(await client.create('shield/k', Buffer.from('x'), kind, never)).toBe('created')
  expect(login.asked).toHaveLength(2)
  login.answer = () => ({
    body: { access_token: tokenFor(3600, 'https://vault.azure.net'), expires_in: 3599 },
  })
  const other = await clientOf(application)
  await expect(other.get('k', never)).rejects.toMatchObject({
    kind: 'stop',
    code: 'sink_refuses',
    message: expect.stringContaining('check account, and that it is in the directory of the identity'),
  })
})

test('a secret that is refused is read again, and shown nowhere', async () => {
  const login = await startLogin()
  const { answer } = login
  login.answer = (asked) =>
    asked.form['client_secret'] === 'the-right-secret'
      ? answer(asked)
      : {
          status: 401,
          body: {
            error: 'invalid_client',
            error_description: `AADSTS7000215: ${asked.form['client_secret']} is wrong`,
          },
        }
  let inFile = 'the-wrong-secret'
  const clientSecret = new Secret(inFile, () => inFile)
  const client = await clientOf(application, { clientSecret })
  const refused = (await client.get('k', never).catch((error: unknown) => error)) as Error
  expect(refused).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
  expect(refused.message).toMatch(
    /^sink lake \(\S+\): 127\S+ answered 401 to the request for a token \(invalid_client: AADSTS7000215: \*\*\* is wrong\): check tenantId, clientId and clientSecret$/,
  )
  inFile = 'the-right-secret'
  expect(await client.get('k', never)).toBeUndefined()
})

test('a server of tokens that asks for a pause gets one', async () => {
  const login = await startLogin()
  login.answer = () => ({ status: 429, headers: { 'retry-after': '120' } })
  const client = await clientOf(application)
  for (let round = 0; round < 2; round++)
    await expect(client.get('k', never)).rejects.toMatchObject({ kind: 'wait', code: 'throttled' })
  expect(login.asked).toHaveLength(1)
})

test('where no identity answers, says what else can be set', async () => {
  const { url, server } = await serveHttp(() => undefined)
  await new Promise((resolve) => server.close(resolve))
  stubEnvironment({ AZURE_POD_IDENTITY_AUTHORITY_HOST: url })
  const client = await clientOf({})
  await expect(client.get('k', never)).rejects.toMatchObject({
    kind: 'retry',
    message: expect.stringMatching(
      /give the host or app a managed identity, .* or set key, sas or clientSecret$/,
    ),
  })
})

test('an identity without a role is told which one it needs', async () => {
  await startLogin()
  const { url } = await serveHttp((_request, response) => {
    response.writeHead(403, { 'x-ms-error-code': 'AuthorizationPermissionMismatch' }).end()
  })
  const sink = { type: 'azure-blob', ...azuriteKey, key: undefined, container: 'waf', endpoint: url }
  const { client } = storeClient({ ...sink, ...application })
  await expect(client.get('k', never)).rejects.toThrow(
    /assign the role Storage Blob Data Contributor on the container to the identity; a new role takes up to ten minutes$/,
  )
})
