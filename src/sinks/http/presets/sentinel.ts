import * as z from 'zod'
import { httpUrl } from '../../../config/fields/fields.ts'
import { createClientCredentials } from '../protocol/client-credentials.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'
import { below, withTime } from '../protocol/preset.ts'

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
      authorise: createClientCredentials({ tokenUrl, clientId, clientSecret: clientSecret!, scope }),
      // Azure drops columns that the rule does not declare; TimeGenerated must be one of them.
      piece: withTime('TimeGenerated'),
      acknowledges: [204],
      remedies: {
        403: 'grant the application the role Monitoring Metrics Publisher on the rule; a new grant takes up to 30 minutes',
        404: 'check url, ruleId and stream',
      },
      check: { body: '[]', found: 'accepted the token and an empty batch' },
    }
  },
})
