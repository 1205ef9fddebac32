import { expect, test } from 'vitest'
import { ConfigErrors } from '../../../src/config/errors.ts'
import { policyOf } from '../../../src/config/policy.ts'
import { load, printed } from '../../config/loading.ts'

const lake = { name: 'lake', type: 's3', bucket: 'waf', region: 'eu-central-1' }

function withSinks(...sinks: object[]) {
  return load({ yaml: JSON.stringify({ api: { accessKey: 'k' }, zones: [101], sinks }) })
}

function errorsOf(...sinks: object[]): string[] {
  try {
    withSinks(...sinks)
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error
    return error.errors.map(({ path, problem, remedy }) => `${path} ${problem}; ${remedy}`)
  }
  return []
}

test('a bucket with its region is enough', () => {
  expect(withSinks(lake).config.sinks[0]).toMatchObject({
    prefix: '',
    endpoint: null,
    pathStyle: null,
    format: 'native',
    file: 'ndjson',
    compress: null,
    everySeconds: null,
    maxBytes: 16_777_216,
    guarantee: 'exactly-once',
  })
})

test.each([
  [{ bucket: 'WAF_events' }, 'sinks[0].bucket is not the name of a bucket; write the name alone'],
  [{ bucket: 's3://waf' }, 'sinks[0].bucket is not the name of a bucket; write the name alone'],
  [{ bucket: '192.168.1.1' }, 'sinks[0].bucket is not the name of a bucket'],
  [{ prefix: 'shield' }, 'sinks[0].prefix is not a prefix; end it with "/"'],
  [{ prefix: '/shield/' }, 'sinks[0].prefix is not a prefix; end it with "/" and begin without one'],
  [{ prefix: 'a/../b/' }, 'sinks[0].prefix is not a prefix'],
  [{ region: 'EU Central' }, 'sinks[0].region is not a region; write it as in eu-central-1'],
  [{ region: null }, 'sinks[0].region is missing; set the region of the bucket, or endpoint'],
  [{ endpoint: 's3.example' }, 'sinks[0].endpoint is not an http or https URL'],
  [{ endpoint: 'https://s3.example/?x=1' }, 'sinks[0].endpoint has a query; remove'],
  [{ format: 'cef' }, 'sinks[0].format is not an allowed value; write native | raw | ecs | ocsf | otlp'],
  [
    { accessKeyId: 'a' },
    'sinks[0].secretAccessKey is missing; set accessKeyId and secretAccessKey, or neither',
  ],
  [{ secretAccessKey: 'a' }, 'sinks[0].accessKeyId is missing'],
  [{ sessionToken: 'a' }, 'sinks[0].sessionToken is set without accessKeyId'],
  [
    { profile: 'p', accessKeyId: 'a', secretAccessKey: 'b' },
    'sinks[0].profile cannot be used with accessKeyId',
  ],
  [{ kmsKeyId: 'alias/x' }, 'sinks[0].kmsKeyId is set without encryption by it; set sse to aws:kms'],
  [
    { file: 'parquet', format: 'raw' },
    'sinks[0].format raw has no columns; file: parquet takes format native or ocsf',
  ],
  [
    { file: 'parquet', format: 'ecs' },
    'sinks[0].format ecs has no columns; file: parquet takes format native or ocsf',
  ],
  [{ file: 'parquet', format: 'otlp' }, 'sinks[0].format otlp has no columns'],
  [{ file: 'parquet', compress: 'zstd' }, 'sinks[0].compress is set with file: parquet; remove it'],
  [{ file: 'csv' }, 'sinks[0].file is not an allowed value; write ndjson | parquet'],
  [{ maxBytes: 65_535 }, 'sinks[0].maxBytes'],
  [{ buket: 'x' }, 'sinks[0].buket'],
])('%j is refused with a remedy', (changes, expected) => {
  const errors = errorsOf({ ...lake, ...changes })
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain(expected)
})

test.each([
  [{}, 300],
  [{ file: 'parquet' }, 900],
  [{ file: 'parquet', format: 'ocsf', everySeconds: 20 }, 20],
])('%j is polled every %d s', (changes, seconds) => {
  const { everyMsOf } = policyOf(withSinks({ ...lake, ...changes }).config)
  expect(everyMsOf?.get('lake')).toBe(seconds * 1000)
})

test('two sinks may not share bucket and prefix', () => {
  const other = { ...lake, name: 'other' }
  expect(errorsOf(lake, other)).toEqual([
    'sinks[1].bucket is the same as sinks[0].bucket; give each s3 sink a different bucket or prefix',
  ])
  expect(errorsOf(lake, { ...other, prefix: 'b/' })).toEqual([])
  expect(errorsOf(lake, { ...other, endpoint: 'https://s3.example' })).toEqual([])
  const at = (endpoint: string) => ({ endpoint, accessKeyId: 'a', secretAccessKey: 'b' })
  expect(
    errorsOf({ ...lake, ...at('https://s3.example') }, { ...other, ...at('https://S3.example/') }),
  ).toEqual(errorsOf(lake, other))
})

test('secrets are never shown', () => {
  const secrets = { accessKeyId: 'AKIASHOWN', secretAccessKey: 'secret-shown', sessionToken: 'token-shown' }
  const text = printed(withSinks({ ...lake, ...secrets }))
  expect(text).not.toMatch(/shown/i)
  expect(text).toContain('bucket: waf')
})
