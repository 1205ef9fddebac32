import { expect, test } from 'vitest'
import { ConfigErrors } from '../../../src/config/errors.ts'
import { policyOf } from '../../../src/config/policy.ts'
import { sasOf } from '../../setup/azurite.ts'
import { load, printed } from '../../config/loading.ts'

const key = Buffer.alloc(64, 1).toString('base64')
const sas = sasOf('waf', 'rcl')
const blob = { name: 'lake', type: 'azure-blob', account: 'wafevents', container: 'waf', key }

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

test('account and container with a key are enough', () => {
  expect(withSinks(blob).config.sinks[0]).toMatchObject({
    prefix: '',
    endpoint: null,
    format: 'native',
    file: 'ndjson',
    compress: null,
    everySeconds: null,
    maxBytes: 16_777_216,
  })
})

test.each([
  [{ account: 'Waf-Events' }, 'sinks[0].account is not the name of a storage account; write the name alone'],
  [
    { account: 'wafevents.blob.core.windows.net' },
    'another address than ACCOUNT.blob.core.windows.net belongs into',
  ],
  [{ container: 'WAF' }, 'sinks[0].container is not the name of a container; write the name alone'],
  [{ container: 'a--b' }, 'sinks[0].container is not the name of a container'],
  [{ container: 'ab' }, 'sinks[0].container is not the name of a container'],
  [{ container: 'waf/shield' }, 'folders belong into prefix'],
  [{ prefix: 'shield' }, 'sinks[0].prefix is not a prefix; end it with "/"'],
  [{ endpoint: 'blob.example' }, 'sinks[0].endpoint is not an http or https URL'],
  [
    { endpoint: 'https://blob.example/?sv=1' },
    'sinks[0].endpoint has a query; remove "?" and everything after it; a shared access signature belongs into sas',
  ],
  [{ key: 'secret' }, 'sinks[0].key is not the key of a storage account; copy one of the two keys'],
  [{ key: `AccountName=wafevents;AccountKey=${key}` }, 'sinks[0].key is not the key of a storage account'],
  [{ clientSecret: 's', tenantId: 't', clientId: 'c' }, 'sinks[0].clientSecret cannot be used with key'],
  [
    { key: undefined, clientSecret: 's', tenantId: 't' },
    'sinks[0].clientId is missing; set tenantId, clientId and clientSecret',
  ],
  [{ key: undefined, clientSecret: 's', clientId: 'c' }, 'sinks[0].tenantId is missing; set tenantId'],
  [{ tenantId: 't' }, 'sinks[0].tenantId is set without clientSecret; set clientSecret, or remove it'],
  [{ sas }, 'sinks[0].sas cannot be used with key; set one of them'],
  [{ key: undefined, sas: 'sv=1' }, 'sinks[0].sas is not a shared access signature; copy the token alone'],
  [
    { key: undefined, sas: `https://wafevents.blob.core.windows.net/waf?${sas}` },
    'sinks[0].sas is not a shared',
  ],
  [{ format: 'cef' }, 'sinks[0].format is not an allowed value'],
  [{ file: 'parquet', format: 'raw' }, 'sinks[0].format raw has no columns'],
  [{ file: 'parquet', compress: 'zstd' }, 'sinks[0].compress is set with file: parquet; remove it'],
  [{ guarantee: 'at-least-once' }, 'sinks[0].guarantee'],
])('%j is refused with a remedy', (changes, expected) => {
  const errors = errorsOf({ ...blob, ...changes })
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain(expected)
})

test.each([{}, { clientId: 'c' }, { tenantId: 't', clientId: 'c', clientSecret: 's' }])(
  '%j in place of a key is enough',
  (changes) => expect(errorsOf({ ...blob, key: undefined, ...changes })).toEqual([]),
)

test.each([
  [{}, 300],
  [{ file: 'parquet' }, 900],
  [{ file: 'parquet', everySeconds: 20 }, 20],
])('%j is polled every %d s', (changes, seconds) => {
  const { everyMsOf } = policyOf(withSinks({ ...blob, ...changes }).config)
  expect(everyMsOf?.get('lake')).toBe(seconds * 1000)
})

test('two sinks may not share account, container and prefix', () => {
  const other = { ...blob, name: 'other' }
  expect(errorsOf(blob, other)).toEqual([
    'sinks[1].container is the same as sinks[0].container; give each azure-blob sink a different container or prefix',
  ])
  expect(errorsOf(blob, { ...other, prefix: 'b/' })).toEqual([])
  expect(errorsOf(blob, { ...other, account: 'another' })).toEqual([])
  expect(errorsOf(blob, { ...other, endpoint: 'https://blob.example' })).toEqual([])
})

test('secrets are never shown', () => {
  const { key: _key, ...rest } = blob
  const text = printed(withSinks(blob, { ...rest, name: 'signed', prefix: 'b/', sas }))
  expect(text).not.toContain(key.slice(0, 20))
  expect(text).not.toContain(new URLSearchParams(sas).get('sig'))
  expect(text).toContain('container: waf')
})
