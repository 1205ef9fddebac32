import { expect, test } from 'vitest'
import { serve } from '../sinks/http/destination-server.ts'
import { openWorkshopWithApi } from './workshop.ts'

test('events that a destination says it dropped are named by run --once, which ends with 1, and by audit', async () => {
  const server = await serve((got, response) => {
    const rejected = got.text.includes('timeUnixNano') ? 3 : 0
    const partialSuccess = { rejectedLogRecords: String(rejected), errorMessage: 'too many attributes' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ partialSuccess }))
  })
  const workshop = await openWorkshopWithApi(
    { zones: [101], days: 20 },
    {
      zones: [101],
      sinks: [{ name: 'otlp', type: 'http', preset: 'otlp', encoding: 'json', url: server.url }],
    },
  )
  const bodies = () => server.got.filter((got) => got.text.includes('timeUnixNano')).length
  const shipped = await workshop.execute('run', '--once')
  const lost = bodies() * 3
  expect(lost).toBeGreaterThan(0)
  expect(shipped.code).toBe(1)
  expect(shipped.stderr).toContain(`acknowledged and dropped by a destination: ${lost} events;`)
  expect(shipped.stderr).toMatch(
    new RegExp(`shipped \\d+ events to otlp \\(${lost} dropped by the destination\\);`),
  )
  const audited = await workshop.execute('audit')
  expect(audited.stdout.replaceAll(/\s+/g, ' ')).toContain(
    `0 missing, 0 extra; ${lost} dropped by the destination.`,
  )
})

test('a sink that filters every event says so in the summary of run --once and in status', async () => {
  const sink = { name: 'siem', type: 'stdout', where: { actions: ['Nothing'] } }
  const workshop = await openWorkshopWithApi({ zones: [101], days: 20 }, { zones: [101], sinks: [sink] })
  const shipped = await workshop.execute('run', '--once')
  expect(shipped.stderr).toMatch(/shipped 0 events to siem \(60 filtered\);/)
  const status = await workshop.execute('status')
  expect(status.stdout).toMatch(/^zone .* events today +filtered /m)
  expect(status.stdout).toMatch(/^siem: all 20 events today were filtered\. /m)
})
