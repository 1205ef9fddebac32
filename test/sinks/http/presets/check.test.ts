import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../src/clock.ts'
import { Secret } from '../../../../src/domain/text/secret.ts'
import { formats } from '../../../../src/formats/registry.ts'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
import { presets } from '../../../../src/sinks/http/presets/registry.ts'
import { createHttpSink } from '../../../../src/sinks/http/sink.ts'
import type { Reply } from '../../../contract/scripted-destination.ts'
import { keepInternalEvents } from '../../internal-events.ts'
import { failureOf, type Got, never, serve } from '../destination-server.ts'

/** Answers by the end of the path, with the method before it where it matters. */
type Answers = Readonly<Record<string, Reply>>

async function sinkWith(preset: string, given: object, answers: Answers) {
  const got: Got[] = []
  const server = await serve((request, response) => {
    got.push(request)
    const path = request.path.replace(/\?.*/, '')
    const found = Object.entries(answers).find(([end]) => `${request.method} ${path}`.endsWith(end))
    const { status, body = '', headers = {} } = found?.[1] ?? { status: 404 }
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  const { credential } = presets.find(({ name }) => name === preset)!
  const settings = HttpSinkConfig.parse({
    type: 'http',
    name: 'siem',
    preset,
    url: server.url,
    ...(credential && { [credential.field]: new Secret('s3cr3t-token') }),
    ...given,
  })
  const deps = { clock: systemClock, telemetry: keepInternalEvents().telemetry, version: '1' }
  const sink = createHttpSink(settings, { ...deps, format: formats[settings.format](), random: () => 0 })
  onTestFinished(() => sink.close())
  return { sink, got, url: server.url }
}

const rule = { ruleId: 'dcr-1', stream: 'Custom-Shield', tenantId: 't-1', clientId: 'c-1' }
const hec = (number: number, text: string) => ({ text, code: number })
const logins: Answers = {
  '/oauth2/v2.0/token': { status: 200, body: { access_token: 'x'.repeat(20), expires_in: 3600 } },
}
const given: Readonly<Record<string, object>> = {
  elasticsearch: { index: 'waf' },
  axiom: { dataset: 'waf' },
  sentinel: rule,
}
const settingsOf = (preset: string, url = '') => ({
  ...given[preset],
  ...(preset === 'sentinel' && { loginUrl: url }),
})
describe('a check finds', () => {
  test.each<[string, Answers, object]>([
    ['elasticsearch', { '/waf/_bulk': { status: 400 } }, { found: 'accepted the credentials' }],
    ['splunk-hec', { '/event': { status: 400, body: hec(5, 'No data') } }, { found: 'accepted the token' }],
    [
      'loki',
      { '/push': { status: 422, body: 'error at least one valid stream is required' } },
      { found: 'accepted the credentials' },
    ],
    // Loki before 3, and other servers with its API.
    ['loki', { '/push': { status: 204 } }, { found: 'accepted the credentials' }],
    ['otlp', { '/v1/logs': { status: 204 } }, { found: 'accepted an empty export' }],
    [
      'otlp',
      { '/v1/logs': { status: 422, body: 'error at least one valid stream is required for ingestion' } },
      { found: 'accepted an empty export' },
    ],
    // Behind some gateways 422 arrives as 400.
    [
      'loki',
      { '/push': { status: 400, body: 'error at least one valid stream is required' } },
      { found: 'accepted the credentials' },
    ],
    [
      'otlp',
      { '/v1/logs': { status: 200, body: { partialSuccess: {} } } },
      { found: 'accepted an empty export' },
    ],
    ['sumologic', { '/': { status: 200 } }, { found: 'accepted an empty body' }],
    ['newrelic', { '/': { status: 202 } }, { found: 'accepted the license key' }],
    ['newrelic', { '/': { status: 400 } }, { found: 'accepted the license key' }],
    ['axiom', { '/v1/ingest/waf': { status: 400 } }, { found: 'accepted the token' }],
    ['json', { 'HEAD /': { status: 405 } }, { found: 'answered 405 to HEAD' }],
    ['json', { 'HEAD /': { status: 400 } }, { untested: 'credentials not tested' }],
    ['ndjson', { 'OPTIONS /': { status: 204 } }, { found: 'answered 204 to OPTIONS' }],
    [
      'axiom',
      { '/v1/ingest/waf': { status: 200, body: { ingested: 0, failed: 0 } } },
      { found: 'accepted the token' },
    ],
    ['betterstack', { '/': { status: 202 } }, { found: 'accepted the token and an empty batch' }],
    ['datadog', { 'HEAD /': { status: 200 } }, { found: 'answered 200 to HEAD' }],
  ])('that %s accepts events, and sends none: %#', async (preset, answers, found) => {
    const { sink, got } = await sinkWith(preset, settingsOf(preset), answers)
    expect(await sink.check(never)).toMatchObject(found)
    expect(got.flatMap(({ ids }) => ids)).toEqual([])
  })

  test.each<[string, Answers, RegExp]>([
    [
      'elasticsearch',
      { '/waf/_bulk': { status: 401, body: 'Unauthorized' } },
      /answered 401 \(Unauthorized\): check the credentials/,
    ],
    [
      'splunk-hec',
      { '/event': { status: 403, body: hec(4, 'Invalid token') } },
      /answered 403 \(code 4: Invalid token\): check token/,
    ],
    ['splunk-hec', { '/event': { status: 503, body: hec(18, 'HEC is unhealthy') } }, /answered 503/],
    ['loki', { '/push': { status: 401, body: 'no org id' } }, /answered 401 \(no org id\)/],
    [
      'otlp',
      { '/v1/logs': { status: 401, body: { code: 16, message: 'missing' } } },
      /answered 401 .*check the credentials/,
    ],
    ['otlp', {}, /answered 404: check url/],
    ['betterstack', { '/': { status: 403 } }, /answered 403/],
    ['datadog', { 'HEAD /': { status: 403 } }, /answered 403/],
    ['json', { 'HEAD /': { status: 401 } }, /answered 401.*check the credentials/],
    ['json', { 'HEAD /': { status: 302 } }, /answered 302: redirects are not followed/],
    ['json', { 'HEAD /': { status: 503 } }, /answered 503/],
    ['ndjson', {}, /answered 404: check url/],
    ['newrelic', { '/': { status: 403 } }, /answered 403: check that the credentials may write there/],
    [
      'axiom',
      { '/v1/ingest/waf': { status: 403, body: 'token s3cr3t-token' } },
      /answered 403 \(token \*\*\*\)/,
    ],
    ['betterstack', { '/': { status: 402 } }, /check the quota/],
    ['sumologic', { '/': { status: 401 } }, /answered 401/],
  ])('why %s would accept nothing: %#', async (preset, answers, message) => {
    const { sink } = await sinkWith(preset, settingsOf(preset), answers)
    const failure = await failureOf(sink.check(never))
    expect(failure.message).toMatch(message)
    expect(failure.message).not.toContain('s3cr3t')
  })

  test.each(presets.map(({ name }) => name).filter((name) => !['json', 'ndjson', 'datadog'].includes(name)))(
    'that a page of HTML is no answer of %s',
    async (preset) => {
      const html = { status: 200, body: '<title>Log in</title>', headers: { 'content-type': 'text/html' } }
      const login = await serve((_request, response) =>
        response.end('{"access_token":"x","expires_in":3600}'),
      )
      const { sink } = await sinkWith(preset, settingsOf(preset, login.url), { '': html })
      const failure = await failureOf(sink.check(never))
      expect(failure.message).toContain('answered 200 (a page of HTML, as of a login or a portal: check url)')
    },
  )

  test('token, role and rule of Sentinel', async () => {
    const at = async (answers: Answers) => {
      const login = await serve((request, response) => {
        const reply = Object.entries(answers).find(([end]) => request.path.endsWith(end))?.[1] ?? {
          status: 401,
          body: '{"error":"invalid_client"}',
        }
        response
          .writeHead(reply.status)
          .end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
      })
      const { sink } = await sinkWith('sentinel', settingsOf('sentinel', login.url), {
        '/dataCollectionRules/dcr-1/streams/Custom-Shield': answers['rule'] ?? { status: 204 },
      })
      return await sink.check(never).catch((error: unknown) => (error as Error).message)
    }
    expect(await at(logins)).toMatchObject({ found: 'accepted the token and an empty batch' })
    expect(await at({})).toMatch(
      /^sink siem .* answered 401 to the request for a token \(invalid_client\): check the tenant/,
    )
    expect(await at({ ...logins, rule: { status: 403 } })).toMatch(/Monitoring Metrics Publisher/)
  })
})
