import { open } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { Agent, request, type Dispatcher } from 'undici'
import type { WireEntry } from '../../../src/simulator/simulator.ts'
import { answer, taskOf } from './child.ts'
import { measured, usageOf } from './usage.ts'
import type { Run } from './runs.ts'

export interface BareTask {
  /** Of the simulator. */
  readonly url: string
  readonly zone: number
  /** YYYY-MM-DD */
  readonly day: string
  readonly path: string
  /** Asks for the first page so often, as a poll would. */
  readonly times?: number | undefined
}

interface WirePage {
  readonly logs: readonly WireEntry[]
  readonly hasMoreData: boolean
  readonly continuationToken: string
}

interface Log {
  readonly Message: string
  readonly Url: string
  readonly RemoteIp: string
  readonly Headers: readonly { readonly Name: string; readonly Value: string }[]
  readonly TriggerMatch: { readonly Key: string; readonly Value: string }
}

/**
 * What a script of one page does: it trusts every answer, remembers nothing, and whatever goes wrong loses or repeats
 * events. Everything that the shipper does beyond it is measured against it.
 */
async function ship({ url, zone, day, path, times = Infinity }: BareTask): Promise<number> {
  const dispatcher = new Agent()
  const file = await open(path, 'a')
  const [year, month, date] = day.split('-')
  const listing = `${url}/shield/event-logs/${zone}/${month}-${date}-${year}`
  let events = 0
  let token: string | undefined
  for (let pages = 1; ; pages++) {
    const place = token === undefined ? '' : `/${encodeURIComponent(token)}`
    const { body, headers } = await request(listing + place, { dispatcher })
    const text = headers['content-encoding'] === 'gzip' ? await unzipped(body) : await body.text()
    const page = JSON.parse(text) as WirePage
    const lines = page.logs.map((entry) => JSON.stringify(mapEntry(entry, zone)))
    await file.appendFile(`${lines.join('\n')}\n`)
    events += lines.length
    if (times === Infinity ? !page.hasMoreData : pages >= times) break
    token = page.continuationToken
  }
  await file.close()
  await dispatcher.close()
  return events
}

async function unzipped(body: Dispatcher.ResponseData['body']): Promise<string> {
  return gunzipSync(await body.bytes()).toString()
}

/** The members of the native format. */
function mapEntry(entry: WireEntry, zone: number) {
  const { logId, timestamp, labels } = entry
  const log = JSON.parse(entry.log as string) as Log
  const header = (name: string) => log.Headers.find(({ Name }) => Name.toLowerCase() === name)?.Value
  const { status, severity, ruleId, ruleGroup, method, asn, country, serverZone } = labels ?? {}
  return {
    v: 1,
    id: logId,
    time: new Date(timestamp).toISOString(),
    zone: { id: zone, name: String(zone) },
    action: status,
    severity: severity === '' ? undefined : severity?.toLowerCase(),
    rule: { id: ruleId, group: ruleGroup === '' ? undefined : ruleGroup, message: log.Message },
    request: { id: header('cdn-requestid'), method, url: log.Url, userAgent: header('user-agent') },
    client: { address: log.RemoteIp, asn: Number(asn), country },
    pop: serverZone,
    match: { operator: log.TriggerMatch.Key, value: log.TriggerMatch.Value },
    labels,
    log,
  }
}

let events = 0
const usage = await measured(async () => {
  events = await ship(taskOf() as BareTask)
})
await answer({ ...usage, events, requests: 0, peakBytes: usageOf(process.pid).peakBytes } satisfies Run)
process.disconnect()
