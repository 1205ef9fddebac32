import * as z from 'zod'
import { httpUrl } from '../../../config/fields/fields.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'

const hosts = { us: 'log-api.newrelic.com', eu: 'log-api.eu.newrelic.com' } as const

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
    url: url ?? `https://${hosts[region]}/log/v1`,
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
      refusesEmpty: ({ status }) => status === 400,
    },
  }),
})
