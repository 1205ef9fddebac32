import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { presets } from '../../../../src/sinks/http/presets/registry.ts'
import { load } from '../../../config/loading.ts'
import { projectFolder } from '../../../setup/project-folder.ts'

const names = presets.map(({ name }) => name)

describe('a preset', () => {
  test.each(names)('has an example and a page: %s', (name) => {
    const isPlain = name === 'ndjson' || name === 'json'
    expect(existsSync(`${projectFolder}config/examples/http-${name}.yaml`), 'example').toBe(true)
    expect(existsSync(`${projectFolder}docs/destinations/${isPlain ? 'http' : name}.md`), 'page').toBe(true)
  })

  test('accepts its own defaults, and refuses a batch beyond its limits', () => {
    for (const { schema } of presets) schema.shape.batch.parse({})
    const { batch } = presets.find(({ name }) => name === 'datadog')!.schema.shape
    expect(batch.parse({})).toEqual({
      maxEvents: 1000,
      maxBytes: 4_500_000,
      maxEventBytes: 1_000_000,
      maxAgeHours: 18,
    })
    const isTaken = (limits: object) => batch.safeParse(limits).success
    expect([isTaken({ maxBytes: 5_000_000 }), isTaken({ maxBytes: 5_000_001 })]).toEqual([true, false])
    expect([isTaken({ maxEvents: 1000 }), isTaken({ maxEvents: 1001 })]).toEqual([true, false])
  })
})

test('reports what is missing or wrong between settings', () => {
  const refused = (sink: string) => {
    try {
      load({ yaml: `api: { accessKey: k }\nzones: [1]\nsinks: [{ type: http, ${sink} }]` })
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }
  expect(refused('preset: nope, url: "http://h/"')).toMatch(
    /sinks\[0\]\.preset = "nope".* is not an allowed value/,
  )
  expect(refused('preset: splunk-hec, url: "http://h/"')).toMatch(
    /token.* is missing; give token or tokenFile/,
  )
  expect(refused('preset: loki, url: "http://h/", username: u')).toMatch(
    /password.* is missing; give username with password, or bearerToken/,
  )
  expect(refused('preset: loki, url: "http://h/", labels: { a-b: c }')).toMatch(
    /labels\.a-b = "c".* is not a label name/,
  )
  expect(refused('preset: datadog, apiKey: k, batch: { maxAgeHours: 48 }')).toMatch(
    /maxAgeHours = 48.* is too large/,
  )
  expect(refused('url: "http://h/"')).toBeUndefined()
})
