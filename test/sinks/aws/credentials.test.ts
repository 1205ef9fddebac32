import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import { credentialsOf } from '../../../src/sinks/aws/credentials.ts'
import { startProxy } from '../../setup/proxy.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const none = {
  region: 'eu-central-1',
  accessKeyId: undefined,
  secretAccessKey: undefined,
  sessionToken: undefined,
  profile: null,
}
let folder: string

beforeEach(() => {
  folder = temporaryFolder()
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'))
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'))
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_PROFILE'])
    vi.stubEnv(name, undefined)
  return () => vi.unstubAllEnvs()
})

test('a configured key is used, and read again when it is refused', async () => {
  let inFile = 'first'
  const source = credentialsOf({
    ...none,
    accessKeyId: new Secret('id'),
    secretAccessKey: new Secret('first', () => inFile),
  })
  const refused = await source()
  expect(refused).toEqual({ accessKeyId: 'id', secretAccessKey: 'first', sessionToken: undefined })
  inFile = 'second'
  expect(await source()).toEqual(refused)
  expect(await source(refused)).toMatchObject({ secretAccessKey: 'second' })
})

test('a key that cannot be sent is named', async () => {
  const source = credentialsOf({ ...none, accessKeyId: new Secret('i\nd'), secretAccessKey: new Secret('s') })
  expect(() => source()).toThrow(/^accessKeyId is empty, begins or ends with a space/)
})

test('without a key the environment gives one', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'from-env')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  expect(await credentialsOf(none)()).toMatchObject({ accessKeyId: 'from-env', secretAccessKey: 'secret' })
})

test('a profile gives a key; its process is asked again when the key is refused, or expires', async () => {
  writeFileSync(join(folder, 'credentials'), '[plain]\naws_access_key_id=a\naws_secret_access_key=b\n')
  expect(await credentialsOf({ ...none, profile: 'plain' })()).toMatchObject({ accessKeyId: 'a' })

  const answers = join(folder, 'answer.json')
  writeFileSync(join(folder, 'config'), `[profile made]\ncredential_process = cat ${answers}\n`)
  const answer = (id: string, minutes: number) =>
    writeFileSync(
      answers,
      JSON.stringify({
        Version: 1,
        AccessKeyId: id,
        SecretAccessKey: 's',
        Expiration: new Date(Date.now() + minutes * 60_000).toISOString(),
      }),
    )
  answer('one', 60)
  const source = credentialsOf({ ...none, profile: 'made' })
  const first = await source()
  expect(first).toMatchObject({ accessKeyId: 'one' })
  answer('two', 1)
  expect(await source()).toMatchObject({ accessKeyId: 'one' })
  expect(await source(first)).toMatchObject({ accessKeyId: 'two' })
  // It expires within five minutes: it is renewed while it is still used.
  answer('three', 60)
  await vi.waitFor(async () => expect(await source()).toMatchObject({ accessKeyId: 'three' }))
})

test('without any credentials the error says where to put them', async () => {
  const given = credentialsOf(none)()
  await expect(given).rejects.toMatchObject({
    kind: 'stop',
    code: 'sink_refuses',
    message: expect.stringMatching(
      /^The chain of AWS gives no credentials \(\w+\): set accessKeyId and secretAccessKey/,
    ),
  })
  await expect(credentialsOf({ ...none, profile: 'nobody' })()).rejects.toThrow(
    /^Profile nobody gives no credentials/,
  )
})

test('STS and SSO are asked through the proxy', async () => {
  const proxy = await startProxy(502)
  writeFileSync(join(folder, 'web-identity'), 'token')
  vi.stubEnv('https_proxy', proxy.url)
  vi.stubEnv('no_proxy', undefined)
  vi.stubEnv('NO_PROXY', undefined)
  vi.stubEnv('AWS_MAX_ATTEMPTS', '1')
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/shieldlog')
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', join(folder, 'web-identity'))
  await expect(credentialsOf(none)()).rejects.toThrow(/gives no credentials/)
  expect(proxy.tunnels).toContain('sts.eu-central-1.amazonaws.com:443')
})
