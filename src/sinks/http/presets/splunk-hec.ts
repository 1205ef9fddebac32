import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { httpUrl } from '../../../fields/fields.ts'
import type { Secret } from '../../../domain/text/secret.ts'
import type { Event } from '../../../domain/event/event.ts'
import { type Answer, isSuccess } from '../../../transport/exchange.ts'
import {
  type Ask,
  below,
  checkByEmptyBatch,
  delivered,
  eachOf,
  jsonOf,
  lineLayout,
  noAcknowledgement,
  type Preset,
  readStatus,
  type Verdict,
} from '../protocol/preset.ts'
import type { EventOutcome } from '../../settle.ts'
import { definePreset, limits } from '../protocol/define-preset.ts'

/**
 * Splunk's HTTP Event Collector. Answers and codes: "Troubleshoot HTTP Event Collector" in Splunk's documentation
 * (Getting Data In). `200` means that Splunk has queued the events; "About HTTP Event Collector Indexer Acknowledgment"
 * describes how it says that they are indexed.
 */
export const splunkHec = definePreset({
  name: 'splunk-hec',
  title: 'Splunk',
  description: 'Events for the HTTP Event Collector of Splunk',
  batch: {
    // Splunk Cloud accepts 1 MB; limits.conf of Splunk Enterprise may allow more.
    maxBytes: limits.maxBytes(1_000_000, 800_000_000),
  },
  credential: { field: 'token', description: 'Token of the collector', scheme: 'Splunk' },
  settings: {
    url: httpUrl('Address of the collector, often with port 8088', 'give token'),
    index: z.string().min(1).optional().describe('Index; default: the index of the token'),
    source: z.string().min(1).default('shieldlog').describe('Source of the events'),
    sourcetype: z.string().min(1).default('bunny:shield').describe('Source type of the events'),
    host: z.string().min(1).optional().describe('Host of the events; default: the shield zone'),
    path: z
      .string()
      .regex(/^(?:\/[^/\s?#]+)+$/, { message: 'is not a path' })
      .default('/services/collector/event')
      .describe('Path of the collector below url; other products have another one'),
    acknowledge: z
      .boolean()
      .default(false)
      .describe('Waits until Splunk has indexed the events; the token needs indexer acknowledgement'),
  },
  create({ url, index, source, sourcetype, host, path, acknowledge }, _format, token) {
    const address = below(url, path)
    const fixed = JSON.stringify({ source, sourcetype, ...(index !== undefined && { index }) }).slice(1, -1)
    const envelope = ({ time, timeMs, zone }: Event) => {
      const at = time === undefined || timeMs === undefined ? '' : `"time":${secondsOf(time, timeMs)},`
      return `{${at}"host":${JSON.stringify(host ?? (zone.name || String(zone.id)))},${fixed},"event":`
    }
    return {
      url: address,
      // Lines, and yet no NDJSON: the collector documents JSON objects one after the other.
      mediaType: 'application/json',
      piece: (event, line) => `${envelope(event)}${line}}`,
      layout: lineLayout,
      ...(acknowledge
        ? acknowledged(address, channelOf(token!))
        : { read: (answer, events) => readCollector(answer, events, false), check: empty }),
    }
  },
})

const empty = {
  body: '',
  found: 'accepted the token',
  untested: 'index not tested',
  // "No data": the token was accepted before.
  refusesEmpty: (answer: Answer) => codeOf(answer) === 5,
}

/** No body gets it: the check asks for it, and would take the acknowledgement of a body away. */
const neverGiven = 2_147_483_647

const channels = new WeakMap<Secret, string>()

/** The same for all that is made of the settings of a sink: bodies wait for their receipts while its address changes. */
function channelOf(token: Secret): string {
  const channel = channels.get(token) ?? randomUUID()
  channels.set(token, channel)
  return channel
}

/** Splunk counts the bodies of a channel, and says once of each that it is indexed. */
function acknowledged(
  address: string,
  channel: string,
): Pick<Preset, 'headers' | 'read' | 'check'> & Required<Pick<Preset, 'confirm'>> {
  const url = new URL(address)
  url.pathname = url.pathname.replace(/(?:\/event)?$/, '/ack')
  url.searchParams.set('channel', channel)
  const read = (answer: Answer, events: readonly Event[]) => readCollector(answer, events, true)
  const confirm = async (receipts: readonly number[], ask: Ask) => {
    const body = JSON.stringify({ acks: receipts })
    const answer = await ask({ method: 'POST', url: url.href, body }, readConfirmation)
    const json = jsonOf(answer)
    return receipts.filter((receipt) => json.at('acks', String(receipt)) === true)
  }
  return {
    headers: { 'x-splunk-request-channel': channel },
    read,
    confirm,
    async check(ask) {
      const checked = await checkByEmptyBatch(ask, empty, read)
      await confirm([neverGiven], ask)
      return { ...checked, found: 'accepted the token, with acknowledgement' }
    },
  }
}

function readConfirmation(answer: Answer): Verdict {
  if (isSuccess(answer.status) && jsonOf(answer).at('acks') !== undefined) return delivered
  // Where the channel is gone, as after a restart, the next body begins it anew.
  if (codeOf(answer) === 11)
    return { kind: 'retry', code: 'server_error', said: 'code 11: the channel is gone' }
  return readCollector(answer, [], true)
}

/** Epoch seconds as text with all digits of the event time, because a number would lose some. */
function secondsOf(time: string, timeMs: number): string {
  const fraction = /\.(\d+)Z$/.exec(time)?.[1] ?? '000'
  return `${Math.floor(timeMs / 1000)}.${fraction}`
}

const withoutAcknowledgement = 'turn indexer acknowledgement on for this token, or remove acknowledge: true'
const remedies: Readonly<Record<number, string>> = {
  1: 'enable the token in Splunk',
  2: 'check token',
  3: 'check token',
  4: 'check token',
  7: 'check index: the token may not write there, or it does not exist',
  10: 'set acknowledge: true, or turn indexer acknowledgement off for this token',
  11: 'let the header X-Splunk-Request-Channel and the parameter channel through to Splunk',
  14: withoutAcknowledgement,
  16: 'check token',
  21: 'check token',
  22: 'enable the token in Splunk',
}
const blamesCredentials = new Set([1, 2, 3, 4, 16, 21, 22])
/** Internal error, busy, and three codes for an unhealthy server. */
const again = new Set([8, 9, 18, 19, 20])
/** Invalid data format, no event, blank event, error in indexed fields. */
const blamesEvent = new Set([6, 12, 13, 15])

function readCollector(answer: Answer, events: readonly Event[], acknowledge: boolean): Verdict {
  const json = jsonOf(answer)
  const code = codeOf(answer)
  if (isSuccess(answer.status)) {
    if (code !== 0) return noAcknowledgement('this is not an answer of Splunk: check url')
    if (!acknowledge) return delivered
    const receipt = json.at('ackId')
    if (typeof receipt === 'number') return { kind: 'delivered', receipt }
    return { kind: 'stop', remedy: withoutAcknowledgement, said: 'it gives no ackId' }
  }
  if (code === undefined) return readStatus(answer.status)
  const said = `code ${code}: ${json.text('text')}`
  const remedy = remedies[code === 10 && acknowledge ? 11 : code]
  if (remedy !== undefined) return { kind: 'stop', remedy, credentials: blamesCredentials.has(code), said }
  const isRefused = blamesEvent.has(code)
  if (!isRefused && !again.has(code)) return readStatus(answer.status)
  const number = events.findIndex((_, index) => index === json.at('invalid-event-number'))
  if (number < 0)
    return isRefused
      ? { kind: 'split', reason: 'refused', said }
      : { kind: 'retry', code: 'server_error', said }
  // Splunk has queued the events before the named one, and none after it; it gives no `ackId` for them.
  return eachOf(events, (_, index): EventOutcome => {
    if (index < number && !acknowledge) return 'delivered'
    if (!isRefused) return { retry: said }
    return index === number ? { refused: 'refused', answer: said } : 'unsent'
  })
}

function codeOf(answer: Answer): number | undefined {
  const code = jsonOf(answer).at('code')
  return typeof code === 'number' ? code : undefined
}
