import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, it } from 'vitest'
import { createOcsfFormat } from '../../src/formats/ocsf.ts'
import { entry } from '../shield/samples.ts'
import { json } from './authorities.ts'
import { buildEvent } from './events.ts'
import { eventOf, long, shapes } from './shapes.ts'

const ocsf = createOcsfFormat()
const validate = new Ajv2020({ strict: false, allErrors: true }).compile(
  json('ocsf-http-activity.json') as object,
)
const timed = shapes.filter(([, { time }]) => time !== undefined)

it.each([...timed, ['values of 64 kB', long] as const])(
  'fits the schema of HTTP Activity: %s',
  (_, event) => {
    for (const include of [{}, { labels: true, log: true, raw: false }]) {
      const line = createOcsfFormat(include).encode(event)
      expect(validate(JSON.parse(line)), JSON.stringify(validate.errors)).toBe(true)
      // The schema above has lost this rule of the class.
      expect(Object.keys(JSON.parse(line) as object)).toContain('dst_endpoint')
    }
  },
)

const enumerations = json('ocsf-captions.json') as Readonly<
  Record<string, { readonly sibling: string; readonly captions: Readonly<Record<string, string>> }>
>
const words = ['Blocked', 'Logged', 'Detected', 'Challenged', 'Captcha', 'Allowed', 'Bypassed', 'Tarpitted']
const severities = ['notice', 'warning', 'error', 'critical', 'emergency']

it.each([
  ...timed,
  ...words.map((action) => [action, buildEvent({ action })] as const),
  ...severities.map((severity) => [severity, buildEvent({ severity })] as const),
])('the text beside a number is its caption, and the own word of an other one: %s', (_, event) => {
  const line = JSON.parse(ocsf.encode(event)) as Record<string, unknown>
  for (const [id, { sibling, captions }] of Object.entries(enumerations)) {
    const text = line[sibling]
    if (text === undefined) continue
    if (line[id] === 99) expect([event.action, event.severity, event.request?.method]).toContain(text)
    else expect([id, line[id], text]).toEqual([id, line[id], captions[String(line[id])]])
  }
  // The words of the service are always there.
  for (const name of ['action', 'severity'] as const)
    if (event[name] !== undefined) expect(line).toHaveProperty(['unmapped', name], event[name])
  if (event.action !== undefined) expect(line).toHaveProperty('action')
  if (event.severity !== undefined) expect(line).toHaveProperty('severity')
})

it('the schema refuses a wrong attribute', () => {
  const good = JSON.parse(ocsf.encode(eventOf(entry()))) as object
  expect(validate({ ...good, time: 'now' })).toBe(false)
  expect(validate({ ...good, own: 1 })).toBe(false)
})
