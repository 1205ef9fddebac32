/**
 * What the description of the interface lists, written by hand from it and from nothing else: every field of every
 * resource, every member of every enumeration, every operation with its parameters, every error body and limit. The
 * reference table is compared with this.
 */

const fieldsOf: Readonly<Record<string, string>> = {
  RateLimitRule: 'id shieldZoneId userId ruleName ruleDescription ruleJson ruleConfiguration errorResponse',
  UpdateWafRateLimitRequest: 'ruleName ruleDescription ruleConfiguration',
  RuleConfiguration:
    'actionType variableTypes operatorType severityType transformationTypes value isNegated isRegexVariable requestCount counterKeyType timeframe blockTime chainedRuleConditions',
  ChainedCondition: 'variableTypes operatorType value isNegated isRegexVariable',
  GenericRequestResponse: 'statusCode success message errorKey',
  AcceptedResult: 'location value formatters contentTypes declaredType statusCode',
  UnauthorizedResult: 'statusCode',
  VolumeTemplate:
    'name id size totalUsage totalInstancesCount attachedInstancesCount containersCount volumeInstances',
  VolumeInstance: 'id attachedPods attachedContainers region size usage set',
  VolumeList: 'items meta cursor summary',
  'VolumeList.meta': 'totalItems',
  'VolumeList.summary': 'totalPods totalContainers totalStorage',
  UploadScanningMetrics: 'error data',
  'UploadScanningMetrics.error': 'success message errorKey',
  'UploadScanningMetrics.data':
    'overviewPastTwentyEightDays totalLoggedRequests totalBlockedRequests totalFilesScanned',
  EventLogPage: 'logs hasMoreData continuationToken startToken errorResponse',
  'EventLogPage.errorResponse': 'success message errorKey',
  EventLogEntry: 'logId timestamp log labels',
  'EventLogEntry.labels': 'asn country ruleId severity method ruleGroup status serverZone',
  ProblemDetails: 'type title status detail instance',
  ValidationProblem: 'title status detail instance errors id',
  'ValidationProblem.errors': 'message field',
}

export const variableTypes =
  'REQUEST_URI REQUEST_URI_RAW ARGS ARGS_COMBINED_SIZE ARGS_GET ARGS_GET_NAMES ARGS_POST ARGS_POST_NAMES FILES_NAMES GEO REMOTE_ADDR QUERY_STRING REQUEST_BASENAME REQUEST_BODY REQUEST_COOKIES_NAMES REQUEST_COOKIES REQUEST_FILENAME REQUEST_HEADERS_NAMES REQUEST_HEADERS REQUEST_LINE REQUEST_METHOD REQUEST_PROTOCOL RESPONSE_BODY RESPONSE_HEADERS RESPONSE_STATUS FINGERPRINT VERIFIED_BOT_CATEGORY'.split(
    ' ',
  )

/** Number and name of each member. */
export const enumerations: Readonly<Record<string, string>> = {
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

/** Every item that the table must have a row for. */
export const interfaceItems: readonly string[] = [
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

/** The fields of a resource. */
export function fieldNames(resource: string): readonly string[] {
  return fieldsOf[resource]!.split(' ')
}
