import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Secret } from '../../src/domain/text/secret.ts'
import { nativeSchema } from '../../src/formats/native-schema.ts'
import { createNativeFormat } from '../../src/formats/native.ts'
import { buildEvent } from '../formats/events.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { presetWith, rule } from '../sinks/http/presets/dialects.ts'

interface Column {
  readonly name: string
  readonly type: string
}
interface Template {
  readonly resources: readonly {
    readonly properties: {
      readonly schema?: { readonly name: string; readonly columns: readonly Column[] }
      readonly streamDeclarations?: Readonly<Record<string, { readonly columns: readonly Column[] }>>
      readonly dataFlows?: readonly { readonly streams: readonly string[]; readonly outputStream: string }[]
    }
  }[]
}

const file = join(projectFolder, 'config/sentinel/template.json')
const { resources } = JSON.parse(readFileSync(file, 'utf8')) as Template
const [table, dataCollection] = resources.map(({ properties }) => properties)
const declared = dataCollection!.streamDeclarations!['Custom-Shield']!.columns

/** Names that Azure Monitor does not allow for a column of a custom table. */
const reserved = ['_ResourceId', 'id', '_SubscriptionId', 'TenantId', 'Type', 'UniqueId', 'Title']
const types = { v: 'int', action: 'string', severity: 'string', pop: 'string' }

const preset = presetWith({
  preset: 'sentinel',
  url: 'https://x.azure.com',
  ...rule,
  clientSecret: new Secret('k'),
})
const format = createNativeFormat({ labels: true, log: true, raw: true }, { env: 'prod' })
const rowOf = (parts: object) => {
  const event = buildEvent({ ...parts })
  return JSON.parse(preset.piece(event, format.encode(event))) as Readonly<Record<string, unknown>>
}

test('the table and the stream have the same columns, and the rule connects them', () => {
  const lower = (columns: readonly Column[]) => columns.map(({ name, type }) => [name, type.toLowerCase()])
  expect(lower(table!.schema!.columns)).toEqual(lower(declared))
  expect(dataCollection!.dataFlows).toMatchObject([
    { streams: ['Custom-Shield'], outputStream: `Custom-${table!.schema!.name}` },
  ])
})

test('the columns are all members of a row, and none is reserved', () => {
  const names = declared.map(({ name }) => name)
  expect(names.filter((name) => reserved.includes(name))).toEqual([])
  const ofLine = Object.keys(nativeSchema.properties).filter((name) => name !== 'id' && name !== 'time')
  expect(names.toSorted()).toEqual(['TimeGenerated', 'EventTime', 'EventId', ...ofLine].toSorted())
  for (const { name, type } of declared) {
    const isTime = name === 'TimeGenerated' || name === 'EventTime'
    const own = name === 'EventId' ? 'string' : isTime ? 'datetime' : undefined
    expect(type, name).toBe(own ?? Reflect.get(types, name) ?? 'dynamic')
  }
})

test.each<[what: string, parts: object]>([
  ['an event with all members', { other: { unknown: 1 }, response: { status: 403 } }],
  ['an id that looks like the rest of a line', { id: 'a"},"time":"x","id":"\\' }],
  ['an event without a time', { time: undefined, timeMs: undefined }],
])('a row of %s has only declared columns, and its id and time', (_what, parts) => {
  const row = rowOf(parts)
  const names = declared.map(({ name }) => name)
  expect(Object.keys(row).filter((name) => !names.includes(name))).toEqual([])
  const { id, time } = buildEvent({ ...parts })
  expect([row['EventId'], row['EventTime'], row['TimeGenerated']]).toEqual([id, time, time])
  expect(row['v']).toBe(1)
  for (const [name, value] of Object.entries(row)) {
    const { type } = declared.find((column) => column.name === name)!
    expect(type === 'dynamic', name).toBe(typeof value === 'object')
    expect(type === 'int', name).toBe(typeof value === 'number')
  }
})

test('lines of another format keep their members behind id and time', () => {
  const event = buildEvent()
  expect(JSON.parse(preset.piece(event, '{"logId":"x","v":1,"id":"y"}'))).toMatchObject({
    EventId: event.id,
    logId: 'x',
    id: 'y',
  })
})
