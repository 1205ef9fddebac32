import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { HttpSinkConfig } from '../../../../src/sinks/http/config.ts'
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
    for (const { name, limits, schema } of presets) {
      const { default: value, most = value } = limits.maxBytes
      const { batch } = schema.shape
      expect(batch.parse({}), name).toMatchObject({ maxBytes: value, maxEvents: limits.maxEvents.default })
      expect(batch.safeParse({ maxBytes: most }).success, name).toBe(true)
      expect(batch.safeParse({ maxBytes: most + 1 }).success, name).toBe(false)
    }
    expect(HttpSinkConfig.options).toHaveLength(presets.length)
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
