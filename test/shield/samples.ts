import { RedactConfig } from '../../src/config/schema.ts'
import type { Json, JsonObject } from '../../src/domain/text/json.ts'
import type { RedactionSettings } from '../../src/shield/redaction/redact.ts'

export const zone = { id: 101, name: 'shop' }

/** What the configuration has without `redact`. */
export const defaults: RedactionSettings = defaultSettings()

function defaultSettings(): RedactionSettings {
  const settings = RedactConfig.parse(undefined)
  if (settings === 'off') throw new Error('redaction is off by default')
  return settings
}

export const log: JsonObject = {
  ServerZoneId: 7,
  Message: 'Restricted File Access Attempt',
  Url: 'https://shop.example/.env?x=1',
  RemoteIp: '1.2.3.*',
  UrlEncodedBody: null,
  Headers: [
    { Name: 'User-Agent', Value: 'curl/8.0' },
    { Name: 'Host', Value: 'shop.example' },
    { Name: 'CDN-RequestId', Value: '0a1b2c3d' },
    { Name: 'X-Forwarded-Proto', Value: 'https' },
  ],
  TriggerMatch: { Key: 'PMF', Value: '.env' },
}

/** An entry as the vendor prints one, with some of it changed. */
export function entry(changes: Record<string, Json> = {}): JsonObject {
  return {
    logId: '5f0c1d9e-7a43-4c43-9d5e-0f6c6a0b1c2d',
    timestamp: 1_763_640_000_123,
    log: JSON.stringify(log),
    labels: {
      asn: '48090',
      country: 'BG',
      ruleId: '930130',
      severity: '',
      method: 'GET',
      ruleGroup: '',
      status: 'Blocked',
      serverZone: 'SG',
    },
    ...changes,
  }
}
