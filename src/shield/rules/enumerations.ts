import { httpStatusCodes } from './http-status.ts'

/** The enumerations of the rate-limit operation: the name of each number that is sent or returned. */
export const enumerations = {
  ActionType: { 1: 'RateLimit', 2: 'Log', 3: 'Challenge' },
  OperatorType: {
    0: 'BEGINSWITH',
    1: 'ENDSWITH',
    2: 'CONTAINS',
    3: 'CONTAINSWORD',
    4: 'STRMATCH',
    5: 'EQ',
    6: 'GE',
    7: 'GT',
    8: 'LE',
    9: 'LT',
    12: 'WITHIN',
    14: 'RX',
    15: 'STREQ',
    17: 'DETECTSQLI',
    18: 'DETECTXSS',
  },
  SeverityType: { 0: 'NOTICE', 1: 'WARNING', 2: 'CRITICAL' },
  TransformationType: {
    1: 'CMDLINE',
    2: 'COMPRESSWHITESPACE',
    3: 'CSSDECODE',
    4: 'HEXENCODE',
    5: 'HTMLENTITYDECODE',
    6: 'JSDECODE',
    7: 'LENGTH',
    8: 'LOWERCASE',
    9: 'MD5',
    10: 'NORMALIZEPATH',
    11: 'NORMALISEPATH',
    12: 'NORMALIZEPATHWIN',
    13: 'NORMALISEPATHWIN',
    14: 'REMOVECOMMENTS',
    15: 'REMOVENULLS',
    16: 'REMOVEWHITESPACE',
    17: 'REPLACECOMMENTS',
    18: 'SHA1',
    19: 'URLDECODE',
    20: 'URLDECODEUNI',
    21: 'UTF8TOUNICODE',
  },
  CounterKeyType: {
    0: 'IP',
    1: 'Host',
    2: 'Country',
    3: 'City',
    4: 'ASN',
    5: 'Organization',
    6: 'JA4',
    7: 'IP_JA4',
  },
  Timeframe: {
    1: 'PerSecond',
    10: 'PerTenSeconds',
    60: 'PerOneMinute',
    300: 'PerFiveMinutes',
    900: 'PerFifteenMinutes',
    3600: 'PerOneHour',
  },
  BlockTime: {
    30: 'ForThirtySeconds',
    60: 'ForOneMinute',
    300: 'ForFiveMinutes',
    900: 'ForFifteenMinutes',
    1800: 'ForThirtyMinutes',
    3600: 'ForOneHour',
  },
  HttpStatusCode: httpStatusCodes,
} as const satisfies Record<string, Readonly<Record<number, string>>>

export type Enumeration = keyof typeof enumerations

/** The numbers and names of an enumeration, in the order of the numbers. */
export function membersOf(enumeration: Enumeration): { readonly number: number; readonly name: string }[] {
  return Object.entries(enumerations[enumeration]).map(([number, name]) => ({ number: Number(number), name }))
}

export function nameOf(enumeration: Enumeration, number: number): string | undefined {
  return membersOf(enumeration).find((member) => member.number === number)?.name
}

/** `1 RateLimit, 2 Log, 3 Challenge`. */
export function membersText(enumeration: Enumeration): string {
  return membersOf(enumeration)
    .map(({ number, name }) => `${number} ${name}`)
    .join(', ')
}
