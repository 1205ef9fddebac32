import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { acceptedFields, enumerations as inCode, fieldsAt, variables } from '../../src/shield/rate-limit.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { fieldsOf } from './interface-fields.ts'
import { readPage } from './pages.ts'

// What the description of the interface lists, written by hand from it and from nothing else: every member of every
// enumeration, every operation with its parameters, every error body and limit; its fields are in `interface-fields.ts`.

const variableTypes =
  'REQUEST_URI REQUEST_URI_RAW ARGS ARGS_COMBINED_SIZE ARGS_GET ARGS_GET_NAMES ARGS_POST ARGS_POST_NAMES FILES_NAMES GEO REMOTE_ADDR QUERY_STRING REQUEST_BASENAME REQUEST_BODY REQUEST_COOKIES_NAMES REQUEST_COOKIES REQUEST_FILENAME REQUEST_HEADERS_NAMES REQUEST_HEADERS REQUEST_LINE REQUEST_METHOD REQUEST_PROTOCOL RESPONSE_BODY RESPONSE_HEADERS RESPONSE_STATUS FINGERPRINT VERIFIED_BOT_CATEGORY'.split(
    ' ',
  )

/** Number and name of each member. */
const enumerations = {
  ActionType: '1 RateLimit, 2 Log, 3 Challenge',
  OperatorType:
    '0 BEGINSWITH, 1 ENDSWITH, 2 CONTAINS, 3 CONTAINSWORD, 4 STRMATCH, 5 EQ, 6 GE, 7 GT, 8 LE, 9 LT, 12 WITHIN, 14 RX, 15 STREQ, 17 DETECTSQLI, 18 DETECTXSS',
  SeverityType: '0 NOTICE, 1 WARNING, 2 CRITICAL',
  TransformationType:
    '1 CMDLINE, 2 COMPRESSWHITESPACE, 3 CSSDECODE, 4 HEXENCODE, 5 HTMLENTITYDECODE, 6 JSDECODE, 7 LENGTH, 8 LOWERCASE, 9 MD5, 10 NORMALIZEPATH, 11 NORMALISEPATH, 12 NORMALIZEPATHWIN, 13 NORMALISEPATHWIN, 14 REMOVECOMMENTS, 15 REMOVENULLS, 16 REMOVEWHITESPACE, 17 REPLACECOMMENTS, 18 SHA1, 19 URLDECODE, 20 URLDECODEUNI, 21 UTF8TOUNICODE',
  CounterKeyType: '0 IP, 1 Host, 2 Country, 3 City, 4 ASN, 5 Organization, 6 JA4, 7 IP_JA4',
  Timeframe:
    '1 PerSecond, 10 PerTenSeconds, 60 PerOneMinute, 300 PerFiveMinutes, 900 PerFifteenMinutes, 3600 PerOneHour',
  BlockTime:
    '30 ForThirtySeconds, 60 ForOneMinute, 300 ForFiveMinutes, 900 ForFifteenMinutes, 1800 ForThirtyMinutes, 3600 ForOneHour',
}

const operations = [
  'PATCH /shield/rate-limit/{id}',
  'GET /mc/apps/{appId}/volumes',
  'GET /shield/metrics/shield-zone/{shieldZoneId}/upload-scanning',
  'GET /shield/event-logs/{shieldZoneId}/{date}/{continuationToken}',
]
const answers = [
  'rate-limit update 200 RateLimitRule',
  'rate-limit update 202 AcceptedResult',
  'rate-limit update 401 UnauthorizedResult',
  'rate-limit update 500 without a body',
  'volume list error ProblemDetails',
  'volume list error ValidationProblem',
  'upload scanning error with statusCode',
  'event logs error ProblemDetails',
]
const limits = ['requestCount int32', 'timeframe values', 'blockTime values', 'id of the path int32']

/** Every item that the table of docs/reference/interface.md must have a row for. */
const items: readonly string[] = [
  ...operations,
  ...Object.entries(fieldsOf).flatMap(([resource, fields]) =>
    fields.split(' ').map((field) => `${resource}.${field}`),
  ),
  'variableTypes keys',
  ...Object.keys(enumerations),
  'HttpStatusCode',
  ...answers,
  ...limits,
  'AccessKey header',
]

const row = /^\| `([^`]+)` \| (.+) \| `(src\/[^`]+)` \| `(test\/[^`]+)` \|$/gm
const rows = [...readPage('docs/reference/interface.md').matchAll(row)].map(
  ([, item = '', use = '', code = '', shownBy = '']) => ({ item, word: wordOf(item, use), code, shownBy }),
)

/** What code and test must contain: what the use ends with in brackets, else the path or the name of the field. */
function wordOf(item: string, use: string): string {
  const own = /\(`([^`]+)`\)$/.exec(use)?.[1]
  return own ?? /(?<= )\/.*?(?=\{)/.exec(item)?.[0] ?? item.split('.').at(-1)!
}

test('the table of the interface has each item once, and nothing else', () => {
  expect(rows.map(({ item }) => item).toSorted()).toEqual(items.toSorted())
})

test.each(rows)('$item is in the code and in the test that the table names', ({ word, code, shownBy }) => {
  const pattern = new RegExp(`(?<!\\w)${word.replaceAll('/', '\\/')}`, 'i')
  for (const path of [code, shownBy])
    expect(pattern.test(readFileSync(join(projectFolder, path), 'utf8')), `${path} has no ${word}`).toBe(true)
})

test('the code has each member of each enumeration, by number and name, and no other', () => {
  expect(Object.values(inCode)).toEqual(Object.values(enumerations))
})

test('the code has every variable, and every field of requests and rules', () => {
  const fieldNames = (resource: string) => fieldsOf[resource]!.split(' ').toSorted()
  expect(variables).toEqual(variableTypes)
  expect(fieldsAt([]).toSorted()).toEqual(fieldNames('UpdateWafRateLimitRequest'))
  expect(fieldsAt(['ruleConfiguration']).toSorted()).toEqual(fieldNames('RuleConfiguration'))
  const chained = ['ruleConfiguration', 'chainedRuleConditions', 0]
  expect(fieldsAt(chained).toSorted()).toEqual(fieldNames('ChainedCondition'))
  expect(acceptedFields.toSorted()).toEqual(fieldNames('AcceptedResult'))
})
