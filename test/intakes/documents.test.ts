import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Event } from '../../src/domain/event/event.ts'
import { exactJson } from '../../src/domain/text/decode.ts'
import { isObject, jsonText, type Json, type JsonObject } from '../../src/domain/text/json.ts'
import { formats } from '../../src/formats/registry.ts'
import { readableDays, zones, type Workplace } from '../e2e/workplace.ts'
import { eventsOf, placeOfEveryKind } from './every-kind.ts'
import { ask, askJson } from './intake.ts'
import { deadLettersOf, expectShipped, expectStored, idsOf, placeFor } from './place.ts'
import { bulkIntake, newDataStream, startElasticsearch, startOpenSearch } from './servers/bulk.ts'

const servers = [
  { name: 'OpenSearch', start: () => startOpenSearch(), hasPipelines: true },
  { name: 'Elasticsearch', start: startElasticsearch, hasPipelines: false },
]

describe.each(servers)('$name', ({ start, hasPipelines }) => {
  let url: string

  beforeAll(async () => {
    url = await start()
  })

  test('keeps all events but those that the mapping of the index refuses; these are dead letters', async () => {
    const index = newDataStream()
    // A rule's id is a number here, and `rate-limit_7` is none.
    await putStricterTemplate(url, index)
    const intake = bulkIntake({ url, index })
    const place = await placeFor(intake.sinkAt(url))
    const { code, stderr } = await place.once()
    expect(code, stderr).toBe(1)
    const bad = idsOfRule(place, 'rate-limit_7')
    expect(bad.length).toBeGreaterThan(20)
    const deadLetters = await deadLettersOf(place)
    expect(deadLetters.map(({ id }) => id).toSorted()).toEqual(bad.toSorted())
    expect(new Set(deadLetters.map(({ reason }) => reason))).toEqual(new Set(['refused']))
    expect(deadLetters[0]!.answer).toMatch(/^(mapper|document)_parsing_exception: .*rule\.id/)
    const good = idsOf(place).filter((id) => !bad.includes(id))
    await expectStored(intake, good, { once: true })
  })

  test.each([
    ['the API masked', 'off', 0],
    ['shieldlog masks', { addresses: 'mask' }, 1],
  ] as const)('has no address in a field of the type ip that %s', async (_what, redact, all) => {
    const index = newDataStream()
    const intake = bulkIntake({ url, index })
    const place = await placeFor(intake.sinkAt(url), {}, { redact })
    await expectShipped(place)
    await expectStored(intake, idsOf(place), { once: true })
    expect(await typeOf(url, index, 'source.ip')).toBe('ip')
    const count = (query: object) => countOf(url, index, query)
    const masked = { wildcard: { 'source.address': '*\\*' } }
    const total = await count({ exists: { field: 'source.address' } })
    const addresses = ['source.ip', 'client.ip', 'related.ip'].map((field) => ({ exists: { field } }))
    const isAddress = { bool: { should: addresses } }
    expect(await count({ bool: { must: [masked, isAddress] } })).toBe(0)
    expect(await count(masked)).toBeGreaterThan(total / 5)
    if (all) expect(await count(isAddress)).toBe(0)
    else expect(await count(isAddress)).toBe(total - (await count(masked)))
  })

  test('refuses no hostile or odd entry, shows each whole, and adds no field to its mapping', async () => {
    const [ordinary, index] = [newDataStream(), newDataStream()]
    const include = { labels: true, log: true, raw: true }
    const before = await placeFor({ ...bulkIntake({ url, index: ordinary }).sinkAt(url), include })
    await expectShipped(before)
    const intake = bulkIntake({ url, index })
    const place = await placeOfEveryKind({ ...intake.sinkAt(url), include })
    await place.once()
    const isTimeless = ({ time }: Event) => time === undefined
    const events = eventsOf(place)
    expect((await deadLettersOf(place)).map(({ id, reason }) => `${id} ${reason}`).toSorted()).toEqual(
      events
        .filter(isTimeless)
        .map(({ id }) => `${id} unmappable`)
        .toSorted(),
    )
    const expected = events.filter((event) => !isTimeless(event))
    await expectStored(
      intake,
      expected.map(({ id }) => id),
      { once: true },
    )
    const { encode } = formats.ecs({ labels: true, log: true })
    const documents = await documentsIn(url, index)
    const wrong = expected.flatMap((event) => {
      const line = exactJson(encode(event)) as JsonObject
      const found = documents.get(`${event.id} ${event.time}`)
      return found === undefined ? [`${event.id}: none`] : changesIn(line, found, event.id)
    })
    const changes = wrong.map((text) => text.slice(text.indexOf('bunny:')))
    expect(changes.slice(0, 20)).toEqual(hasPipelines ? rewritten : [])
    expect(await mappingOf(url, index)).toEqual(await mappingOf(url, ordinary))
  })

  // The modules of Elasticsearch that can be had here have no pipelines.
  if (hasPipelines)
    test('adds the time of arrival and the parsed user agent by the pipeline', async () => {
      const index = newDataStream()
      const intake = bulkIntake({ url, index })
      const place = await placeFor(intake.sinkAt(url))
      await expectShipped(place)
      await expectStored(intake, idsOf(place), { once: true })
      const has = (field: string) => countOf(url, index, { exists: { field } })
      expect(await has('event.ingested')).toBe(idsOf(place).length)
      expect(await has('user_agent.original')).toBeGreaterThan(0)
      expect(await has('user_agent.name')).toBe(await has('user_agent.original'))
      expect(await has('error.message')).toBe(0)
      // Its version is `131.0.`, in which an index that looks for dates sees one: it would refuse all other versions.
      const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0'
      const body = { '@timestamp': '2026-11-28', user_agent: { original: firefox } }
      const other = newDataStream()
      await askJson(`${url}/${other}/_doc`, { method: 'POST', body })
      expect(await typeOf(url, other, 'user_agent.version')).toBe('keyword')
    })
})

/** A pipeline writes numbers anew. */
const rewritten = [
  'bunny: shield: log: b is "Infinity", not 1e400',
  'bunny: shield: log: c is 0, not -0',
  'bunny: shield: log: d is [1.0,-1500.0], not [1.0,-1.50E+3]',
]

/** Each document as it was received, by the id and time of its event. */
async function documentsIn(url: string, index: string): Promise<Map<string, JsonObject>> {
  const body = { size: 1000, sort: [{ 'event.id': 'asc' }] }
  const { text } = await ask(`${url}/${index}/_search`, { method: 'POST', body })
  const { hits } = exactJson(text) as unknown as { hits: { hits: { _source: JsonObject }[] } }
  return new Map(
    hits.hits.map(({ _source: source }) => {
      const { id } = source['event'] as { id: string }
      return [`${id} ${source['@timestamp'] as string}`, source] as const
    }),
  )
}

/** What a document lacks or has changed; the pipeline may have added to it. */
function changesIn(sent: Json, found: Json | undefined, path: string): string[] {
  if (isObject(sent) && isObject(found ?? null))
    return Object.entries(sent).flatMap(([name, value]) =>
      changesIn(value, (found as JsonObject)[name], `${path}: ${name}`),
    )
  if (isDeepStrictEqual(sent, found)) return []
  return [`${path} is ${jsonText(found ?? null).slice(0, 100)}, not ${jsonText(sent).slice(0, 100)}`]
}

/** Without what the pipeline adds to it. */
async function mappingOf(url: string, index: string): Promise<unknown> {
  const found = (await askJson(`${url}/${index}/_mapping`)) as Record<
    string,
    { mappings: { properties: Record<string, unknown> } }
  >
  const { mappings } = Object.values(found)[0]!
  const { user_agent: _added, ...properties } = mappings.properties
  return { ...mappings, properties }
}

function idsOfRule({ simulator }: Workplace, rule: string): string[] {
  const entries = zones.flatMap((zone) => readableDays().flatMap((day) => simulator.entries(zone, day)))
  return entries
    .filter(({ labels }) => (labels as { ruleId?: string }).ruleId === rule)
    .map(({ logId }) => logId)
}

async function putStricterTemplate(url: string, index: string): Promise<void> {
  const mappings = { properties: { rule: { properties: { id: { type: 'long' } } } } }
  await askJson(`${url}/_index_template/${index}`, {
    method: 'PUT',
    body: {
      index_patterns: [index],
      data_stream: {},
      priority: 300,
      composed_of: ['logs-bunny_shield.event@mappings'],
      template: { mappings },
    },
  })
}

async function countOf(url: string, index: string, query: object): Promise<number> {
  const found = await askJson(`${url}/${index}/_count`, { method: 'POST', body: { query } })
  return (found as { count: number }).count
}

async function typeOf(url: string, index: string, field: string): Promise<string | undefined> {
  const found = (await askJson(`${url}/${index}/_mapping/field/${field}`)) as Record<
    string,
    { mappings: Record<string, { mapping: Record<string, { type: string }> }> }
  >
  return Object.values(Object.values(found)[0]?.mappings[field]?.mapping ?? {})[0]?.type
}
