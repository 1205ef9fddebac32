import * as z from 'zod'
import { httpUrl } from '../../../fields/fields.ts'
import type { Event } from '../../../domain/event/event.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'
import { below } from '../protocol/preset.ts'
import { clientCredentials, createTokens } from '../tokens.ts'

const text = (description: string) => z.string().min(1).describe(description)

/**
 * Microsoft Sentinel through the Logs Ingestion API of Azure Monitor:
 * https://learn.microsoft.com/azure/azure-monitor/logs/logs-ingestion-api-overview. `204` is the acknowledgement.
 */
export const sentinel = definePreset({
  name: 'sentinel',
  title: 'Microsoft Sentinel',
  description: 'Rows for a custom table of Microsoft Sentinel, through a data collection rule',
  // The limit of 1 MB applies before and after compression.
  batch: { maxBytes: limits.maxBytes(1_000_000) },
  credential: { field: 'clientSecret', description: 'Secret of the application' },
  settings: {
    url: httpUrl('Logs ingestion endpoint of the rule', 'give clientSecret'),
    ruleId: text('Immutable id of the data collection rule: dcr-…'),
    stream: text('Stream of the rule: Custom-…'),
    tenantId: text('Directory (tenant) id'),
    clientId: text('Application (client) id'),
    loginUrl: httpUrl('Address that issues tokens', 'give clientSecret').default(
      'https://login.microsoftonline.com',
    ),
    scope: text('Scope of the token').default('https://monitor.azure.com/.default'),
  },
  create({ url, ruleId, stream, tenantId, clientId, loginUrl, scope }, _format, clientSecret) {
    const path = ['', 'dataCollectionRules', ruleId, 'streams', stream].map(encodeURIComponent).join('/')
    const address = new URL(below(url, path))
    address.searchParams.set('api-version', '2023-01-01')
    const tokenUrl = new URL(below(loginUrl, `/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`))
    return {
      url: address.href,
      authorise: createTokens({
        secret: () => clientSecret!.reveal(),
        request: (secret) => clientCredentials({ tokenUrl, clientId, scope }, { client_secret: secret }),
        remedy: 'check the tenant, the client and its secret',
      }),
      piece: rowOf,
      acknowledges: [204],
      remedies: {
        403: 'grant the application the role Monitoring Metrics Publisher on the rule; a new grant takes up to 30 minutes',
        404: 'check url, ruleId and stream',
      },
      check: { body: '[]', found: 'accepted the token and an empty batch' },
    }
  },
})

/** Id and time of a native line, which follow its version. */
const identity = /^(\{"v":1),"id":"(?:[^"\\]|\\.)*"(?:,"time":"[^"]*")?/

/**
 * Tables reserve the name `id`, and Azure replaces a `TimeGenerated` more than two days old by the time of arrival: id and
 * time have columns of their own. Azure drops columns that the rule does not declare; config/sentinel declares all.
 */
function rowOf({ id, time }: Event, line: string): string {
  const own = JSON.stringify({ TimeGenerated: time, EventTime: time, EventId: id.toWellFormed() })
  return `${own.slice(0, -1)},${line.replace(identity, '$1').slice(1)}`
}
