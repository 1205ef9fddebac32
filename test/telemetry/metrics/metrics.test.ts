import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Failure } from '../../../src/domain/failure.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import type { Observation } from '../../../src/domain/observation.ts'
import type { Zone } from '../../../src/domain/stream.ts'
import { metricDefinitions } from '../../../src/telemetry/metrics/metrics.ts'
import { promtoolAvailable } from '../../setup/available.ts'
import { runCommand } from '../../setup/run-command.ts'
import { blog, day, known, loadCommitted, setUpMetrics, shop, observationOf, stream } from '../stage.ts'
import { parseExposition, valueOf, type Sample } from './exposition.ts'

describe('metrics', () => {
  it('has every name of the contract, with its labels', async () => {
    const contract = `events_fetched_total{zone} events_delivered_total{zone,sink} events_duplicate_total{zone,sink}
      events_late_total{zone,sink} events_filtered_total{zone,sink} events_dead_lettered_total{sink,reason}
      dead_letters{sink} pages_fetched_total{zone,sink} api_requests_total{account,operation,outcome}
      api_request_duration_seconds{operation} api_throttled_total{account} zone_lag_seconds{zone,sink}
      zone_caught_up_timestamp_seconds{zone,sink} zone_newest_event_timestamp_seconds{zone,sink}
      time_to_loss_seconds{zone,sink} gaps{zone,sink} gaps_recorded_total{zone,sink,reason} event_delay_seconds{sink,priority}
      sink_requests_total{sink,outcome} sink_request_duration_seconds{sink} sink_bytes_total{sink}
      sink_free_bytes{sink} sink_objects_total{sink} sink_objects_adopted_total{sink}
      checkpoint_commit_duration_seconds{} streams{state} queue_jobs{sink,priority,state} clock_skew_seconds{account}
      build_info{version} zone_info{zone,name,account} stream_failures_total{sink,code}`
    const { metrics } = setUpMetrics()
    metrics.readAtScrape({ observe: async () => observationOf([], []) })
    const text = await metrics.text()
    const families = parseExposition(text)
    for (const entry of contract.split(/\s+/)) {
      const [, name, labels] = /^(\w+)\{(.*)\}$/.exec(entry)!
      const definition = metricDefinitions.find((one) => one.name === name)
      expect(Object.keys(definition?.labels ?? { missing: name }).join(','), name).toBe(labels)
      expect(families.get(`shieldlog_${name}`), name).toMatchObject({
        type: definition!.type,
        help: definition!.help,
      })
    }
    for (const { help } of metricDefinitions) expect(help).toMatch(/^[^\n\\]{20,}$/)
    expect(valueOf(families, 'shieldlog_build_info', { version: '1.2.3' })).toBe(1)
    for (const own of ['process_', 'nodejs_'])
      expect([...families.keys()].some((name) => name.startsWith(own))).toBe(true)
    // The library has more, by a timer whose interval stands in their values.
    expect([...families.keys()].filter((name) => name.includes('eventloop'))).toEqual([
      'nodejs_eventloop_lag_seconds',
    ])
    // In OpenMetrics a counter is named without its suffix.
    for (const [name, { type }] of families) expect(name.endsWith('_total'), name).toBe(type === 'counter')
    const names = [...families.keys()].map((name) => name.replace(/_total$/, ''))
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
    if (promtoolAvailable()) await runCommand('promtool', ['check', 'metrics'], { input: text.join('') })
  })

  it('start every counter and histogram of the configuration at 0', async () => {
    const { metrics } = setUpMetrics()
    const families = parseExposition(await metrics.text())
    for (const { name, type, samples } of families.values()) {
      if (!name.startsWith('shieldlog_') || type === 'gauge') continue
      expect(samples.length, name).toBeGreaterThan(0)
      for (const { value } of samples) expect(value, name).toBe(0)
    }
    expect(families.get('shieldlog_gaps_recorded_total')!.samples).toHaveLength(2 * 2 * 5)
    expect(families.get('shieldlog_sink_requests_total')!.samples).toHaveLength(2 * 8)
  })

  it('counts what happens', async () => {
    const { metrics, telemetry } = setUpMetrics()
    const priority = 'live'
    telemetry.emit({ name: 'PageFetched', stream, priority, events: 10, bytes: 99 })
    telemetry.emit({ ...loadCommitted, stream })
    telemetry.emit({ name: 'EventDeadLettered', stream, id: 'x', reason: 'refused', answer: 'no' })
    telemetry.emit({ name: 'SinkAnswered', sink: 'siem', outcome: 'ok', seconds: 0.2, bytes: 500 })
    telemetry.emit({ name: 'SinkAnswered', sink: 'siem', outcome: 'timeout', seconds: 30, bytes: 0 })
    telemetry.emit({ name: 'ClockSkewMeasured', account: 'default', offsetMs: -1500 })
    telemetry.emit({ name: 'FileCut', sink: 'siem', part: 'p', bytes: 1, keptAside: false })
    const gap = { zone: 101, sink: 'siem', day, from: 0, to: 1, reason: 'zone_gone', recordedAt: 2 } as const
    telemetry.emit({ name: 'GapFound', gap })
    const failure = new Failure('retry', 'timeout', 'no answer in time')
    telemetry.emit({ name: 'StreamFailed', stream, priority, failure, retryAtMs: 0, failures: 1 })
    const families = parseExposition(await metrics.text())
    const zone = { zone: '101' }
    const route = { ...zone, sink: 'siem' }
    const delay = { sink: 'siem', priority: 'live' }
    const expected: [string, Record<string, string>, number][] = [
      ['events_fetched_total', zone, 10],
      ['pages_fetched_total', route, 1],
      ['events_delivered_total', route, 6],
      ['events_delivered_total', { ...route, zone: '102' }, 0],
      ['events_duplicate_total', route, 3],
      ['events_late_total', route, 2],
      ['events_filtered_total', route, 3],
      ['events_dead_lettered_total', { sink: 'siem', reason: 'refused' }, 1],
      ['event_delay_seconds_count', delay, 4],
      ['event_delay_seconds_sum', delay, 404.5],
      ['checkpoint_commit_duration_seconds_count', {}, 1],
      ['sink_bytes_total', { sink: 'siem' }, 500],
      ['sink_requests_total', { sink: 'siem', outcome: 'timeout' }, 1],
      ['clock_skew_seconds', { account: 'default' }, -1.5],
      ['gaps_recorded_total', { ...route, reason: 'zone_gone' }, 1],
      ['stream_failures_total', { sink: 'siem', code: 'timeout' }, 1],
      ['part_repairs_total', { sink: 'siem', repair: 'cut' }, 1],
    ]
    for (const [name, labels, count] of expected)
      expect(valueOf(families, `shieldlog_${name}`, labels), name).toBe(count)
  })

  it('remove series that are no longer configured, keep the others, and ignore late values', async () => {
    const { metrics, telemetry } = setUpMetrics()
    const page = { name: 'PageFetched', priority: 'live', events: 1, bytes: 1 } as const
    const fetched = (zone: number): InternalEvent => ({ ...page, stream: { ...stream, zone } })
    telemetry.emit(fetched(101))
    metrics.prepare({ ...known, zones: [{ ...shop, name: 'shop renamed' }], sinks: ['siem', 'lake'] })
    telemetry.emit(fetched(102))
    telemetry.emit({ name: 'SinkAnswered', sink: 'archive', outcome: 'ok', seconds: 0.1, bytes: 1 })
    const families = parseExposition(await metrics.text())
    const isGone = ({ labels }: Sample) => labels['zone'] === '102' || labels['sink'] === 'archive'
    expect([...families.values()].flatMap(({ samples }) => samples).filter(isGone)).toEqual([])
    expect(valueOf(families, 'shieldlog_events_fetched_total', { zone: '101' })).toBe(1)
    expect(valueOf(families, 'shieldlog_events_late_total', { zone: '101', sink: 'lake' })).toBe(0)
    const [info] = families.get('shieldlog_zone_info')!.samples
    expect(info?.labels).toEqual({ zone: '101', name: 'shop renamed', account: 'default' })
  })

  it('never use received text as a label without escaping', async () => {
    const { metrics, telemetry } = setUpMetrics()
    const sink = 'si"em\\\n# TYPE x counter\nx 1'
    metrics.prepare({ ...known, sinks: [sink] })
    const answered = { name: 'ApiAnswered', account: 'default', outcome: 'ok', seconds: 1 } as const
    telemetry.emit({ ...answered, operation: 'volumes' })
    telemetry.emit({ ...answered, account: 'other\n', operation: 'event_logs' })
    telemetry.emit({ ...answered, outcome: 'teapot' as 'ok', operation: 'event_logs' })
    telemetry.emit({ name: 'SinkAnswered', sink, outcome: 'ok', seconds: 1, bytes: 3 })
    const families = parseExposition(await metrics.text())
    expect(valueOf(families, 'shieldlog_sink_bytes_total', { sink })).toBe(3)
    const requests = families.get('shieldlog_api_requests_total')!.samples.filter(({ value }) => value > 0)
    expect(requests.map(({ labels }) => Object.values(labels).join())).toEqual(['default,volumes,ok'])
  })

  it('have at most 25 series for each zone and sink', async () => {
    const { metrics } = setUpMetrics()
    const observed = observationOf(known.zones, known.sinks)
    const routes = observed.routes.map((route) => ({ ...route, newestMs: 1_800_000_000_000 }))
    metrics.readAtScrape({ observe: async () => ({ ...observed, routes }) })
    const families = parseExposition(await metrics.text())
    const own = [...families.values()]
      .flatMap(({ samples }) => samples)
      .filter(({ labels: { zone, sink = 'siem' } }) => zone === '101' && sink === 'siem')
    expect(own.length).toBeGreaterThan(10)
    expect(own.length).toBeLessThanOrEqual(25)
  })
})

describe('the gauges of shared state', () => {
  const route = { zone: '101', sink: 'siem' }

  it('are read from the store, only for configured zones and sinks', async () => {
    const { metrics } = setUpMetrics()
    const gone: Zone = { id: 999, name: 'gone', account: 'default' }
    const observed = observationOf([shop, blog, gone], [...known.sinks, 'old'])
    const routes = observed.routes.map((one) =>
      one.summary.zone === 102
        ? { ...one, newestMs: 1_800_000_000_250, summary: { ...one.summary, timeToLossSeconds: undefined } }
        : one,
    )
    metrics.readAtScrape({ observe: async () => ({ ...observed, routes }) })
    const families = parseExposition(await metrics.text())
    const value = (name: string, labels: Record<string, string>) =>
      valueOf(families, `shieldlog_${name}`, labels)
    expect(families.get('shieldlog_zone_lag_seconds')!.samples).toHaveLength(4)
    expect(value('zone_caught_up_timestamp_seconds', route)).toBe(1_800_000_000.5)
    expect(value('zone_newest_event_timestamp_seconds', route)).toBeUndefined()
    expect(value('zone_newest_event_timestamp_seconds', { ...route, zone: '102' })).toBe(1_800_000_000.25)
    expect(value('time_to_loss_seconds', { ...route, zone: '102' })).toBe(Infinity)
    expect(value('gaps', route)).toBe(2)
    expect(value('gaps', { ...route, zone: '102' })).toBe(0)
    expect(value('gaps', { zone: '77', sink: 'retired' })).toBe(1)
    expect(value('streams', { state: 'settling' })).toBe(3)
    expect(families.get('shieldlog_dead_letters')!.samples.map(({ value: count }) => count)).toEqual([
      0, 14, 0,
    ])
    expect(value('queue_jobs', { sink: 'siem', priority: 'live', state: 'waiting' })).toBe(9)
    expect(value('state_up', {})).toBe(1)
  })

  it('are absent when the store fails, except lag, which keeps growing', async () => {
    const fail = () => Promise.reject(new Error('store down'))
    const { metrics, clock } = setUpMetrics()
    let read: () => Promise<Observation> = fail
    metrics.readAtScrape({ observe: () => read() })
    const never = parseExposition(await metrics.text())
    expect(valueOf(never, 'shieldlog_state_up')).toBe(0)
    expect(never.get('shieldlog_zone_lag_seconds')!.samples).toEqual([])

    read = () => Promise.resolve(observationOf(known.zones, known.sinks))
    await clock.advance(3000)
    expect(valueOf(parseExposition(await metrics.text()), 'shieldlog_state_up')).toBe(1)
    read = fail
    await clock.advance(100_000)
    const down = parseExposition(await metrics.text())
    expect(valueOf(down, 'shieldlog_state_up')).toBe(0)
    expect(valueOf(down, 'shieldlog_zone_lag_seconds', route)).toBe(105)
    expect(valueOf(down, 'shieldlog_time_to_loss_seconds', route)).toBe(89_900)
    for (const name of ['streams', 'gaps', 'dead_letters', 'queue_jobs', 'zone_caught_up_timestamp_seconds'])
      expect(down.get(`shieldlog_${name}`)!.samples, name).toEqual([])
    expect(valueOf(down, 'shieldlog_events_late_total', route)).toBe(0)
  })

  it('delay a scrape by at most four seconds when the store hangs, and read it every 15 seconds', async () => {
    const { metrics, clock } = setUpMetrics()
    const questions: ((observed: Observation) => void)[] = []
    metrics.readAtScrape({ observe: () => new Promise((resolve) => questions.push(resolve)) })
    const first = metrics.text()
    await clock.untilSleeping()
    await clock.advance(4000)
    expect(valueOf(parseExposition(await first), 'shieldlog_state_up')).toBe(0)

    await clock.advance(11_000)
    const second = metrics.text()
    await clock.untilSleeping()
    expect(questions).toHaveLength(2)
    questions[1]!(observationOf(known.zones, known.sinks, 1))
    expect(valueOf(parseExposition(await second), 'shieldlog_zone_lag_seconds', route)).toBe(1)
    expect(clock.sleeping()).toBe(0)
  })
})

it('a metric is written anew once it has changed, also while it was being written', async () => {
  const { metrics, clock } = setUpMetrics()
  const zones = Array.from({ length: 1000 }, (_, index) => ({ ...shop, id: index + 1 }))
  metrics.prepare({ ...known, zones })
  const value = (text: readonly string[]) =>
    valueOf(parseExposition(text), 'shieldlog_events_fetched_total', { zone: '1' })
  const meanwhile = metrics.text()
  // So many that the event loop turns while they are written.
  await clock.advance(1000)
  await setImmediate()
  metrics.count('events_fetched_total', { zone: '1' }, 4)
  expect(value(await meanwhile)).toBe(0)
  expect(value(await metrics.text())).toBe(4)
})

it('a histogram is written with the sums of its buckets', async () => {
  const { metrics } = setUpMetrics()
  const labels = { sink: 'siem', priority: 'live' }
  metrics.count('event_delay_seconds', labels, [0.5, 3, 3, 70])
  metrics.count('event_delay_seconds', { ...labels, sink: 'unknown' }, 1)
  const families = parseExposition(await metrics.text())
  const value = (part: string, more = {}) =>
    valueOf(families, `shieldlog_event_delay_seconds${part}`, { ...more, ...labels })
  const buckets = ['1', '5', '60', '+Inf'].map((le) => value('_bucket', { le }))
  expect([...buckets, value('_sum'), value('_count')]).toEqual([1, 3, 3, 4, 76.5, 4])
})
