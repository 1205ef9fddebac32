import { afterEach, expect, test, vi } from 'vitest'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { buildEvents } from '../../../formats/events.ts'
import { sentSignature, sha256, signatureOf } from '../../../setup/aws-signature.ts'
import {
  answerWith,
  deliver,
  failureOf,
  format,
  type Got,
  never,
  type Reply,
  serve,
  ship,
} from '../destination-server.ts'

const events = buildEvents(3)
const secretOf = 'fake/secret+key'
const denied = (message: string): Reply => ({ status: 403, body: { message } })
const mismatch = denied(
  'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.',
)

interface Service {
  readonly secret?: Secret
  readonly service?: 'es' | 'aoss'
  /** In place of its proper answer. */
  readonly reply?: (got: Got) => Reply
  /** Settings in `aws`, in place of a key. */
  readonly aws?: object
}

/** A sink, and an OpenSearch that takes requests with a good signature of the body as it came. */
async function signing({ secret = new Secret(secretOf), service = 'es', reply, aws }: Service = {}) {
  const got: Got[] = []
  const server = await serve((request, response) => {
    const { path: url, headers, method, body } = request
    got.push(request)
    const own = reply?.(request)
    if (own !== undefined) return answerWith(response, own)
    const isBody = headers['x-amz-content-sha256'] === sha256(body)
    if (!isBody || sentSignature({ headers }) !== signatureOf({ method, url, headers }, body, secretOf))
      return answerWith(response, mismatch)
    if (!url.includes('/_bulk')) return answerWith(response, { status: 404 })
    const ids = [...request.text.matchAll(/^\{"create":\{"_id":"([^"]+)"\}\}$/gm)].map(([, id]) => id)
    if (ids.length === 0) return answerWith(response, { status: 400, body: { error: 'empty' } })
    const items = ids.map((id) => ({ create: { _id: id, status: 201 } }))
    return answerWith(response, { status: 200, body: { errors: false, items } })
  })
  const keys = aws ?? { accessKeyId: new Secret('AKIAFAKE'), secretAccessKey: secret }
  const { batch, ...settings } = HttpSinkConfig.parse({
    type: 'http',
    preset: 'elasticsearch',
    url: server.url,
    // A name that is encoded in the path is encoded once more to be signed, but for S3.
    index: 'waf-ä',
    pipeline: 'p q',
    aws: { region: 'eu-central-1', service, ...keys },
  })
  return { got, ...ship(server.url, { ...settings, batch }, { format }) }
}

afterEach(() => vi.unstubAllEnvs())

test('the tests compute the signature that AWS publishes for its example get-vanilla', () => {
  const scope = 'AKIDEXAMPLE/20150830/us-east-1/service/aws4_request'
  const headers = {
    host: 'example.amazonaws.com',
    'x-amz-date': '20150830T123600Z',
    authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host;x-amz-date, Signature=x`,
  }
  const secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
  expect(signatureOf({ method: 'GET', url: '/', headers }, Buffer.alloc(0), secret)).toBe(
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  )
})

test.each(['es', 'aoss'] as const)('the body is signed as it is sent, compressed: %s', async (service) => {
  const { sink, got } = await signing({ service })
  expect(await sink.check(never)).toMatchObject({ found: 'accepted the credentials' })
  expect(await deliver(sink, events)).toMatchObject({ refusals: [] })
  const { headers } = got.at(-1)!
  expect(headers).toMatchObject({ 'content-encoding': 'gzip' })
  expect(headers.authorization).toContain(`/eu-central-1/${service}/aws4_request`)
})

test('a refused key is read again, and the body sent at once where it has changed', async () => {
  let file = 'of another time'
  const { sink, got } = await signing({ secret: new Secret('of another time', () => file) })
  const failure = await failureOf(deliver(sink, events))
  expect(failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
  expect(failure.message).toMatch(/\): check secretAccessKey; it does not belong to accessKeyId$/)
  expect(got).toHaveLength(1)
  file = secretOf
  await deliver(sink, events)
  expect(got).toHaveLength(3)
})

test('a session token of the chain is sent, and masked where an answer repeats it', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIACHAIN')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretOf)
  vi.stubEnv('AWS_SESSION_TOKEN', 's3cr3t-session-token')
  const aws = { profile: null }
  await deliver((await signing({ aws })).sink, events)
  const { sink } = await signing({
    aws,
    reply: ({ headers }) => denied(`in eu-central-1: ${String(headers['x-amz-security-token'])}`),
  })
  const failure = await failureOf(deliver(sink, events))
  expect(failure.message).toContain('in eu-central-1: ***')
})

const noIds = { type: 'illegal_argument_exception', reason: 'Document ID is not supported in create/index' }
const timeSeries = events.map(({ id, time }) => ({
  create: { _id: `101_${id}_${time}`, status: 400, error: noIds },
}))

test.each<[Reply, RegExp, service?: 'es' | 'aoss']>([
  [
    denied('The security token included in the request is expired'),
    /the session token has expired: renew it/,
  ],
  [
    denied('The security token included in the request is invalid.'),
    /not know this access key: check accessKeyId/,
  ],
  [
    denied('Signature expired: 20261120T101112Z is now earlier than 20261120T102612Z - 5 min.'),
    /20261120T102612Z - 5 min\."\}\): set this host's clock, for example by NTP/,
  ],
  [
    denied("Credential should be scoped to a valid region, not 'eu-central-1'."),
    /not 'eu-central-1'[^]*set aws\.region to that of the domain or collection/,
  ],
  [denied('Credential should be scoped to correct service: es.'), /set aws\.service: es for/],
  [
    denied('User: arn:aws:iam::1:user/u is not authorized'),
    /allow these credentials es:ESHttpPost on the domain/,
  ],
  [denied('Forbidden'), /allow these credentials aoss:APIAccessAll/, 'aoss'],
  [{ status: 200, body: { errors: true, items: timeSeries } }, /one of time series takes no ids/, 'aoss'],
])('an error says what to do: %o %s', async (reply, message, service = 'es') => {
  const { sink } = await signing({ reply: () => reply, service })
  const failure = await failureOf(deliver(sink, events))
  expect(failure).toMatchObject({ kind: 'stop', code: 'sink_refuses' })
  expect(failure.message).toMatch(message)
})

const key = { accessKeyId: new Secret('a'), secretAccessKey: new Secret('b') }
test.each<[settings: object, path: string, problem: string]>([
  [{ aws: {} }, 'aws.region', 'expected string'],
  [{ aws: { region: 'EU' } }, 'aws.region', 'is not a region'],
  [{ aws: { region: 'eu-central-1', accessKeyId: new Secret('a') } }, 'aws.secretAccessKey', 'is missing'],
  [
    { aws: { region: 'eu-central-1', ...key, profile: 'p' } },
    'aws.profile',
    'cannot be used with accessKeyId',
  ],
  [{ aws: { region: 'eu-central-1' }, apiKey: new Secret('k') }, 'apiKey', 'cannot be used with aws'],
])('settings that contradict each other are refused: %o', (settings, path, problem) => {
  const whole = { type: 'http', preset: 'elasticsearch', url: 'https://es.example', ...settings }
  const { error } = HttpSinkConfig.safeParse(whole)
  expect(error?.issues).toMatchObject([
    { path: path.split('.'), message: expect.stringContaining(problem) as unknown },
  ])
})
