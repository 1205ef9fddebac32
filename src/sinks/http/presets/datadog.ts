import * as z from 'zod'
import { httpUrl } from '../../../config/fields/fields.ts'
import { checkAddress, readStatus } from '../protocol/preset.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'

/**
 * The logs intake of Datadog: https://docs.datadoghq.com/api/latest/logs/#send-logs. The event is below `bunny`,
 * because Datadog gives top-level names like `status` a special meaning.
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
      piece({ id, time, action, rule, zone }, line) {
        const message = [action, rule?.id, rule?.message].filter((part) => part !== undefined).join(' ')
        const own = {
          hostname: zone.name || String(zone.id),
          timestamp: time,
          message: (message || id).toWellFormed(),
        }
        return `{${fixed},${JSON.stringify(own).slice(1, -1)},"bunny":${line}}`
      },
      // The worker of Observability Pipelines, like Vector's source datadog_agent, acknowledges with 200.
      acknowledges: url === undefined ? [202] : [200, 202],
      async check(ask) {
        if (url !== undefined) return checkAddress(ask)
        const validate = `https://api.${site}/api/v1/validate`
        await ask({ method: 'GET', url: validate }, ({ status }) => readStatus(status, [200]))
        return { found: 'accepted the API key' }
      },
    }
  },
})
