/** The enumerations of the rate-limit operation, as the interface lists them: each number with its name. */
const listed = {
  ActionType: '1 RateLimit, 2 Log, 3 Challenge',
  OperatorType:
    '0 BEGINSWITH, 1 ENDSWITH, 2 CONTAINS, 3 CONTAINSWORD, 4 STRMATCH, 5 EQ, 6 GE, 7 GT, 8 LE, 9 LT, ' +
    '12 WITHIN, 14 RX, 15 STREQ, 17 DETECTSQLI, 18 DETECTXSS',
  SeverityType: '0 NOTICE, 1 WARNING, 2 CRITICAL',
  TransformationType:
    '1 CMDLINE, 2 COMPRESSWHITESPACE, 3 CSSDECODE, 4 HEXENCODE, 5 HTMLENTITYDECODE, 6 JSDECODE, 7 LENGTH, ' +
    '8 LOWERCASE, 9 MD5, 10 NORMALIZEPATH, 11 NORMALISEPATH, 12 NORMALIZEPATHWIN, 13 NORMALISEPATHWIN, ' +
    '14 REMOVECOMMENTS, 15 REMOVENULLS, 16 REMOVEWHITESPACE, 17 REPLACECOMMENTS, 18 SHA1, 19 URLDECODE, ' +
    '20 URLDECODEUNI, 21 UTF8TOUNICODE',
  CounterKeyType: '0 IP, 1 Host, 2 Country, 3 City, 4 ASN, 5 Organization, 6 JA4, 7 IP_JA4',
  Timeframe:
    '1 PerSecond, 10 PerTenSeconds, 60 PerOneMinute, 300 PerFiveMinutes, 900 PerFifteenMinutes, 3600 PerOneHour',
  BlockTime:
    '30 ForThirtySeconds, 60 ForOneMinute, 300 ForFiveMinutes, 900 ForFifteenMinutes, ' +
    '1800 ForThirtyMinutes, 3600 ForOneHour',
}

export type Enumeration = keyof typeof listed

/** `1 RateLimit, 2 Log, 3 Challenge`. */
export function membersText(enumeration: Enumeration): string {
  return listed[enumeration]
}

/** The numbers of an enumeration by name. */
export function membersOf(enumeration: Enumeration): ReadonlyMap<string, number> {
  const members = listed[enumeration].split(', ').map((member) => member.split(' '))
  return new Map(members.map(([number, name = '']) => [name, Number(number)]))
}

export function nameOf(enumeration: Enumeration, number: number): string | undefined {
  return [...membersOf(enumeration)].find(([, member]) => member === number)?.[0]
}
