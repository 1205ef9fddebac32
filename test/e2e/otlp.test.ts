import { SpanKind } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { redisServerAvailable, startRedis } from '../setup/redis.ts'
import { waitFor } from '../setup/wait-for.ts'
import { otlpReceiver, type ReceivedSpan } from '../telemetry/otlp-receiver.ts'
import { tracedTo } from '../telemetry/real-sdk.ts'
import { accessKey, readableDays, workplace, zones } from './workplace.ts'

const instance = ({ resource }: ReceivedSpan) => resource['service.instance.id']
const named = (spans: readonly ReceivedSpan[], name: string) => spans.filter((span) => span.name === name)
const deliveredIn = (spans: readonly ReceivedSpan[]) =>
  named(spans, 'deliver')
    .filter(({ attributes }) => attributes['shieldlog.outcome'] === 'ok')
    .reduce((sum, { attributes }) => sum + Number(attributes['shieldlog.events']), 0)

test.skipIf(!redisServerAvailable())(
  'a real OpenTelemetry SDK shows one trace from the tick in the scheduler to the commit in the worker',
  async () => {
    const receiver = await otlpReceiver()
    const { spans } = receiver
    const redis = await startRedis({ appendOnly: true })
    const state = { redis: { url: redis.url, keyPrefix: redis.keyPrefix } }
    // Nothing is under way any more once the first scans are done.
    const poll = { everySeconds: 3_600 }
    const place = await workplace({ days: 60, pageSize: 25 }, { state, poll })
    const start = async (role: 'scheduler' | 'worker') => {
      const names = {
        OTEL_RESOURCE_ATTRIBUTES: `service.instance.id=${role}`,
        OTEL_BSP_SCHEDULE_DELAY: '100',
      }
      return place.start(['run', '--role', role], { env: await tracedTo(receiver.url, names) })
    }
    const processes = [await start('scheduler'), await start('worker')]
    const pathTo = (span: ReceivedSpan): ReceivedSpan[] => {
      const parent = spans.find(({ spanId }) => spanId === span.parentId)
      return parent === undefined ? [span] : [...pathTo(parent), span]
    }
    const areWhole = () => named(spans, 'commit').every((span) => pathTo(span).length === 3)
    await waitFor(() => deliveredIn(spans) === zones.length * 3 * 60 && areWhole(), {
      what: () => `whole traces: ${processes.map((each) => each.stderr()).join('\n')}`,
    })
    for (const each of processes.reverse()) expect((await each.kill('SIGTERM'))?.code).toBe(0)
    for (const name of ['fetch', 'deliver', 'commit']) {
      expect(named(spans, name).length, name).toBeGreaterThanOrEqual(zones.length * 3)
      for (const span of named(spans, name)) {
        const path = pathTo(span)
        expect(path.map((each) => each.name)).toEqual(['tick', 'pump', name])
        expect(path.map(instance)).toEqual(['scheduler', 'worker', 'worker'])
        expect(path.slice(0, 2).map(({ kind }) => kind)).toEqual([SpanKind.PRODUCER, SpanKind.CONSUMER])
        expect(new Set(path.map(({ traceId }) => traceId)).size).toBe(1)
      }
    }
    expect(new Set(spans.map(({ resource }) => resource['service.name']))).toEqual(new Set(['shieldlog']))
    const sent = receiver.texts.join('\n')
    const tokens = place.simulator.requests.flatMap(({ token }) => (token === undefined ? [] : [token]))
    const ids = place.simulator.entries(101, readableDays()[0]).map(({ logId }) => logId)
    expect(tokens.length).toBeGreaterThan(0)
    for (const secret of [accessKey, redis.url, redis.keyPrefix, place.folder, ...tokens, ...ids])
      expect(sent.includes(secret), secret).toBe(false)
  },
)
