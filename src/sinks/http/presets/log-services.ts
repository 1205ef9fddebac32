import * as z from 'zod'
import { addIssue, httpUrl } from '../../../fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import { headerValueError } from '../../../domain/text/http-rules.ts'
import type { Answer } from '../../../transport/exchange.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'
import {
  acknowledgedBut,
  below,
  checkAddress,
  jsonOf,
  lineLayout,
  noAcknowledgement,
  readError,
  readStatus,
  type Verdict,
  withTime,
} from '../protocol/preset.ts'

// Hosted services that take logs with a key: each is a short definition, Axiom alone reads more than a status.

/** The level of a log. */
const statuses: Readonly<Record<string, string>> = {
  critical: 'critical',
  error: 'error',
  warning: 'warning',
  notice: 'notice',
}

/**
 * The logs intake of Datadog: https://docs.datadoghq.com/api/latest/logs/#send-logs. A log has the members that its agent
 * sends, and no other, since the decoders of other products refuse any other. The event is below `bunny` in the JSON of
 * the message, which Datadog reads: it gives top-level names like `status` a special meaning.
 */
export const datadog = definePreset({
  name: 'datadog',
  title: 'Datadog',
  description: 'Logs for Datadog',
  batch: {
    maxEvents: limits.maxEvents(1000),
    maxBytes: limits.maxBytes(4_500_000, 5_000_000),
    // Datadog cuts longer events.
    maxEventBytes: limits.maxEventBytes(1_000_000),
    maxAgeHours: limits.maxAgeHours(18),
  },
  credential: { field: 'apiKey', description: 'API key', header: 'dd-api-key' },
  settings: {
    site: z
      .string()
      .regex(/^[a-z0-9.-]+$/, { message: 'is not the name of a site' })
      .default('datadoghq.com')
      .describe('Site of the account, such as datadoghq.eu'),
    url: httpUrl('Address of the intake; default: the address of the site', 'give apiKey').optional(),
    service: z.string().min(1).default('bunny-shield').describe('Service of the logs'),
    tags: z.array(z.string().min(1)).default([]).describe('Tags of the logs, such as env:prod'),
  },
  create({ site, url, service, tags, set = {} }) {
    const ddtags = [...tags, ...Object.entries(set).map(([name, value]) => `${name}:${value}`)].join(',')
    const fixed = JSON.stringify({ ddsource: 'bunny-shield', service, ddtags }).slice(1, -1)
    return {
      url: url ?? `https://http-intake.logs.${site}/api/v2/logs`,
      piece({ id, timeMs, action, severity = '', rule, zone }, line) {
        const words = [action, rule?.id, rule?.message].filter((part) => part !== undefined).join(' ')
        const text = JSON.stringify((words || id).toWellFormed())
        const own = {
          hostname: zone.name || String(zone.id),
          status: statuses[severity] ?? 'info',
          timestamp: timeMs === undefined ? undefined : Math.floor(timeMs),
          message: `{"message":${text},"bunny":${line}}`,
        }
        return `{${fixed},${JSON.stringify(own).slice(1)}`
      },
      // The worker of Observability Pipelines, like Vector's source datadog_agent, acknowledges with 200.
      acknowledges: url === undefined ? [202] : [200, 202],
      async check(ask) {
        if (url !== undefined) return checkAddress(ask)
        const validate = `https://api.${site}/api/v1/validate`
        await ask(
          { method: 'GET', url: validate },
          (answer) => readError(answer) ?? readStatus(answer.status, [200]),
        )
        return { found: 'accepted the API key' }
      },
    }
  },
})

/** Of a body without events, after the key was accepted. Other servers and proxies answer 400 with a text or a page. */
function isRefusal(answer: Answer): boolean {
  return answer.status === 400 && jsonOf(answer).at() !== undefined
}

const newrelicHosts = { us: 'log-api.newrelic.com', eu: 'log-api.eu.newrelic.com' } as const

/**
 * The Log API of New Relic: https://docs.newrelic.com/docs/logs/log-api/introduction-log-api. `202` means that New
 * Relic accepted the body. It reads the body later, and reports events that it drops as NrIntegrationError in the
 * account.
 */
export const newrelic = definePreset({
  name: 'newrelic',
  title: 'New Relic',
  description: 'Logs for New Relic',
  batch: {
    maxBytes: limits.maxBytes(1_000_000),
    maxAgeHours: limits.maxAgeHours(48),
  },
  credential: { field: 'licenseKey', description: 'License key (ingest)', header: 'api-key' },
  settings: {
    region: z.enum(['us', 'eu']).default('us').describe('Region of the account'),
    url: httpUrl('Address of the Log API; default: the address of the region', 'give licenseKey').optional(),
  },
  create: ({ region, url }) => ({
    url: url ?? `https://${newrelicHosts[region]}/log/v1`,
    // New Relic turns a JSON message into attributes.
    piece: ({ id, timeMs }, line) =>
      JSON.stringify({ timestamp: timeMs, message: line, attributes: { log_id: id.toWellFormed() } }),
    layout: {
      before: '[{"common":{"attributes":{"logtype":"bunny-shield","service":"bunny-shield"}},"logs":[',
      between: ',',
      after: ']}]',
    },
    acknowledges: [202],
    check: {
      body: '[{"logs":[]}]',
      found: 'accepted the license key',
      refusesEmpty: isRefusal,
    },
  }),
})

/** A source of Better Stack: https://betterstack.com/docs/logs/ingesting-data/http/logs. */
export const betterstack = definePreset({
  name: 'betterstack',
  title: 'Better Stack',
  description: 'Logs for a source of Better Stack',
  batch: { maxBytes: limits.maxBytes(1_000_000, 10_000_000) },
  credential: { field: 'token', description: 'Token of the source', scheme: 'Bearer' },
  settings: { url: httpUrl('Ingesting host of the source', 'give token') },
  create: ({ url }) => ({
    url,
    piece: withTime('dt'),
    acknowledges: [202],
    check: { body: '[]', found: 'accepted the token and an empty batch' },
  }),
})

const sourceText = (description: string) =>
  z
    .string()
    .superRefine((value, context) => addIssue(context, headerValueError(value)))
    .optional()
    .describe(description)

/**
 * An HTTP source of a hosted collector of Sumo Logic:
 * https://help.sumologic.com/docs/send-data/hosted-collectors/http-source. Its address is the secret.
 */
export const sumologic = definePreset({
  name: 'sumologic',
  title: 'Sumo Logic',
  description: 'Lines for an HTTP source of Sumo Logic',
  compressions: ['gzip', 'zstd', 'none'],
  batch: { maxBytes: limits.maxBytes(1_000_000) },
  settings: {
    url: httpUrl('Address of the HTTP source', 'remove them; the address itself is the secret'),
    category: sourceText('Source category; default: the category of the source'),
    source: sourceText('Source name; default: the name of the source'),
    host: sourceText('Source host; default: the host of the source'),
  },
  create: ({ url, category, source, host }) => ({
    url,
    headers: {
      ...(category !== undefined && { 'x-sumo-category': category }),
      ...(source !== undefined && { 'x-sumo-name': source }),
      ...(host !== undefined && { 'x-sumo-host': host }),
    },
    layout: lineLayout,
    acknowledges: [200],
    check: { body: '', found: 'accepted an empty body' },
  }),
})

/**
 * A dataset of Axiom: https://axiom.co/docs/restapi/endpoints/ingestToDataset. The answer contains the number of events
 * that failed, but not which ones.
 */
export const axiom = definePreset({
  name: 'axiom',
  title: 'Axiom',
  description: 'Events for a dataset of Axiom',
  compressions: ['gzip', 'zstd', 'none'],
  batch: { maxBytes: limits.maxBytes(1_000_000, 10_000_000) },
  credential: { field: 'token', description: 'API token that may ingest into the dataset', scheme: 'Bearer' },
  settings: {
    url: httpUrl('Base address of the edge deployment', 'give token').default(
      'https://us-east-1.aws.edge.axiom.co',
    ),
    dataset: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,128}$/, { message: 'is not the name of a dataset' })
      .describe('Name of the dataset'),
  },
  create: ({ url, dataset }) => ({
    url: below(url, `/v1/ingest/${dataset}`),
    piece: withTime('_time'),
    layout: lineLayout,
    read: readIngest,
    check: { body: '\n', found: 'accepted the token', refusesEmpty: isRefusal },
  }),
})

function readIngest(answer: Answer, events: readonly Event[]): Verdict {
  const { status, headers } = answer
  // Two headers contain the time at which a limit ends, in seconds since the epoch.
  const resets = [headers['x-ratelimit-reset'], headers['x-ingestlimit-reset']].map(Number)
  const retryAtMs = Math.max(0, ...resets.filter(Number.isFinite)) * 1000
  if (status === 429) return { kind: 'retry', code: 'throttled', ...(retryAtMs > 0 && { retryAtMs }) }
  if (status !== 200) return readStatus(status, [200])
  const json = jsonOf(answer)
  const [ingested, failed] = [json.at('ingested'), json.at('failed') ?? 0]
  if (typeof ingested !== 'number' || typeof failed !== 'number')
    return noAcknowledgement('the answer has no number of ingested events: check url')
  if (ingested + failed !== events.length)
    return noAcknowledgement(`of ${events.length} events, ${ingested} were ingested and ${failed} failed`)
  return acknowledgedBut(failed, events, json.text('failures', '0', 'error'))
}
