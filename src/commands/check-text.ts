import type { Checked, ZoneProblem } from '../assemble/tasks/check.ts'
import { stateName } from '../assemble/tasks/existing-store.ts'
import { printable } from '../domain/text/printable.ts'
import type { Loaded } from '../config/load/load.ts'
import type { Config } from '../config/schema/schema.ts'
import type { FailureCode } from '../domain/failure.ts'
import type { Zone } from '../domain/stream.ts'
import { durationText } from './terminal/duration.ts'
import { counted } from './terminal/progress-text.ts'
import { zoneText } from './terminal/zone-text.ts'

const mostZones = 20
const toleratedOffsetMs = 30_000

export function configurationLine({ config, file }: Loaded): string {
  const zones = zonesOf(config).length
  const from = file === undefined ? 'flags and environment' : printable(file)
  return `configuration: good (${from}; ${counted(zones, 'zone')}, ${counted(config.sinks.length, 'sink')})`
}

/** What passed, one line each. */
export function checkSummary(config: Config, checked: Checked): string[] {
  const lines: string[] = []
  if (checked.zonesWell > 0)
    lines.push(`API: ${checked.zonesWell} of ${counted(zonesOf(config).length, 'zone')} can be read`)
  const ill = new Set(checked.sinkProblems.map(({ sink }) => sink.name))
  for (const { name, type } of config.sinks) if (!ill.has(name)) lines.push(`sink ${name} (${type}): good`)
  if (checked.stateProblem === undefined) lines.push(`state: ${printable(stateName(config))} can be written`)
  return lines
}

/** What failed, one line each with the remedy. */
export function checkProblems(config: Config, checked: Checked): string[] {
  const lines = checked.zoneProblems.map((problem) => zoneLine(config, problem))
  for (const { sink, message } of checked.sinkProblems)
    lines.push(`sink ${sink.name} (${printable(sink.address)}): ${printable(message)}`)
  if (checked.stateProblem !== undefined) lines.push(`state: ${printable(checked.stateProblem)}`)
  return lines
}

/** Problems that do not stop a run. */
export function checkWarnings({ clockOffsets }: Checked): string[] {
  return [...clockOffsets].flatMap(([account, offsetMs]) => {
    if (Math.abs(offsetMs) <= toleratedOffsetMs) return []
    const how = `${durationText(Math.abs(offsetMs) / 1000)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the API's`
    return [`warning: this host's clock is ${how} (account ${account}); set it, for example by NTP`]
  })
}

function zoneLine(config: Config, { account, failure, zones, notAsked }: ZoneProblem): string {
  const own = config.accounts.find(({ name }) => name === account)?.zones.length ?? 0
  const isWhole = zones.length + notAsked === own
  const whose = isWhole ? (own === 1 ? zoneNames(zones) : `all ${own} zones`) : zoneNames(zones)
  const remedy = remedyOf(failure.code, account, isWhole)
  const rest = notAsked > 0 ? `; ${notAsked} of them were not asked` : ''
  return `API, account ${account}, ${whose}: ${printable(failure.message)}${remedy === '' ? '' : `; ${remedy}`}${rest}`
}

function remedyOf(code: FailureCode, account: string, isWhole: boolean): string {
  if (code === 'unauthorised') {
    const key = account === 'default' ? 'api.accessKey' : `accessKey of account ${account}`
    return isWhole ? `put a key that is valid into ${key}` : `use a key that may read them in ${key}`
  }
  const remedies: Partial<Record<FailureCode, string>> = {
    zone_gone: 'remove it from zones, or name it under the account that owns it',
    network: 'check api.baseUrl, name resolution, the firewall and the proxy variables',
    timeout: 'check the network, or raise api.requestTimeoutSeconds',
    tls: 'check api.baseUrl, api.tls.caFile and NODE_EXTRA_CA_CERTS',
    bad_body: 'check api.baseUrl: what answers there is not this API',
    rejected: 'check api.baseUrl and api.firstPage',
    window_closed: 'check the clock of this host: the API does not know today',
    page_too_large: 'raise api.maxPageBytes',
    throttled: 'wait, or ask for a higher rate limit',
    server_error: 'try again later',
  }
  return remedies[code] ?? ''
}

function zoneNames(zones: readonly Zone[]): string {
  const shown = zones.slice(0, mostZones).map(({ id, name }) => zoneText(id, name))
  const more = zones.length > mostZones ? ` and ${zones.length - mostZones} more` : ''
  return `${zones.length === 1 ? 'zone' : 'zones'} ${shown.join(', ')}${more}`
}

function zonesOf({ accounts }: Config): Zone[] {
  return accounts.flatMap(({ zones }) => zones)
}
