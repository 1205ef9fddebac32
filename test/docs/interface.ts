import { markdownTable } from './table.ts'

/** One item of the interface: what shieldlog does with it, where, and the test that shows it. */
export interface InterfaceRow {
  readonly item: string
  readonly use: string
  readonly code: string
  readonly test: string
  /** What code and test must contain; the last word of the item unless given. */
  readonly word?: string
}

const shield = 'src/shield'
const tests = 'test/shield'

interface Place {
  readonly code: string
  readonly test: string
}

const updates: Place = { code: `${shield}/rules/update.ts`, test: `${tests}/rate-limit.test.ts` }
const rules: Place = { code: `${shield}/rules/rule.ts`, test: `${tests}/rate-limit.test.ts` }
const outcomes: Place = { code: `${shield}/rate-limit.ts`, test: `${tests}/rate-limit.test.ts` }
const figures: Place = { code: `${shield}/figures.ts`, test: `${tests}/figures.test.ts` }
const pages: Place = { code: `${shield}/event-logs.ts`, test: `${tests}/event-logs.test.ts` }
const entries: Place = {
  code: `${shield}/entries/to-event.ts`,
  test: `${tests}/entries/stored-event.test.ts`,
}
const errors: Place = { code: `${shield}/client/api-error.ts`, test: `${tests}/client/api-error.test.ts` }
const problems: Place = { code: `${shield}/client/api-error.ts`, test: `${tests}/figures.test.ts` }

const sent = 'checked, then sent'
const shown = 'kept and shown'
const told = 'part of the error message'

/** Rows of the fields of a resource; a use that differs is given after the name. */
function fields(resource: string, place: Place, use: string, names: string): InterfaceRow[] {
  return names.split(' ').map((name) => ({ item: `${resource}.${name}`, use, ...place }))
}

export const interfaceRows: readonly InterfaceRow[] = [
  {
    item: 'PATCH /shield/rate-limit/{id}',
    use: '`rate-limit update`; sent once',
    ...outcomes,
    word: '/shield/rate-limit/',
  },
  { item: 'GET /mc/apps/{appId}/volumes', use: '`volumes`, metrics', ...figures, word: '/mc/apps/' },
  {
    item: 'GET /shield/metrics/shield-zone/{shieldZoneId}/upload-scanning',
    use: '`upload-scanning`, metrics',
    ...figures,
    word: '/shield/metrics/shield-zone/',
  },
  {
    item: 'GET /shield/event-logs/{shieldZoneId}/{date}/{continuationToken}',
    use: 'shipped',
    ...pages,
    word: '/shield/event-logs/',
  },
  ...fields('RateLimitRule', rules, shown, 'id shieldZoneId userId ruleName ruleDescription ruleJson'),
  ...fields('RateLimitRule', rules, shown, 'ruleConfiguration errorResponse'),
  ...fields('UpdateWafRateLimitRequest', updates, sent, 'ruleName ruleDescription ruleConfiguration'),
  ...fields(
    'RuleConfiguration',
    updates,
    `${sent}; ${shown}`,
    'actionType variableTypes operatorType severityType transformationTypes value isNegated isRegexVariable requestCount counterKeyType timeframe blockTime chainedRuleConditions',
  ),
  ...fields(
    'ChainedCondition',
    updates,
    `${sent}; ${shown}`,
    'variableTypes operatorType value isNegated isRegexVariable',
  ),
  ...fields('GenericRequestResponse', errors, 'decides whether it is an error', 'statusCode success'),
  ...fields('GenericRequestResponse', errors, told, 'message errorKey'),
  ...fields(
    'AcceptedResult',
    rules,
    'kept and shown; an error or a rule in `value` counts',
    'location value formatters contentTypes declaredType statusCode',
  ),
  ...fields('UnauthorizedResult', errors, 'a refused key', 'statusCode'),
  ...fields('VolumeTemplate', figures, shown, 'name id size totalUsage totalInstancesCount'),
  ...fields('VolumeTemplate', figures, shown, 'attachedInstancesCount containersCount volumeInstances'),
  ...fields('VolumeInstance', figures, shown, 'id attachedPods attachedContainers region size usage'),
  ...fields('VolumeInstance', figures, 'the state, also where it is called `status`', 'set'),
  ...fields('VolumeList', figures, 'followed to its end', 'items cursor'),
  ...fields('VolumeList', figures, shown, 'summary'),
  ...fields(
    'VolumeList',
    figures,
    'shows whether all items were read when the first page comes again',
    'meta',
  ),
  ...fields(
    'VolumeList.meta',
    figures,
    'shows whether all items were read when the first page comes again',
    'totalItems',
  ),
  ...fields('VolumeList.summary', figures, shown, 'totalPods totalContainers totalStorage'),
  ...fields('UploadScanningMetrics', figures, 'an error, where it has a key or a message', 'error'),
  ...fields('UploadScanningMetrics', figures, shown, 'data'),
  ...fields('UploadScanningMetrics.error', errors, told, 'success message errorKey'),
  ...fields('UploadScanningMetrics.data', figures, 'a line a day', 'overviewPastTwentyEightDays'),
  ...fields(
    'UploadScanningMetrics.data',
    figures,
    `${shown}; metrics`,
    'totalLoggedRequests totalBlockedRequests totalFilesScanned',
  ),
  ...fields('EventLogPage', pages, 'read', 'logs hasMoreData continuationToken'),
  ...fields('EventLogPage', pages, 'not used: nothing says what it means', 'startToken'),
  ...fields('EventLogPage', errors, 'an error, where it has a key or a message', 'errorResponse'),
  ...fields('EventLogPage.errorResponse', errors, told, 'success message errorKey'),
  {
    item: 'EventLogEntry.logId',
    use: 'identity, with the time',
    code: `${shield}/entries/identities.ts`,
    test: `${tests}/entries/to-event.test.ts`,
  },
  {
    item: 'EventLogEntry.timestamp',
    use: 'time; its unit is recognised',
    code: `${shield}/entries/identities.ts`,
    test: `${tests}/entries/entry-time.test.ts`,
  },
  {
    item: 'EventLogEntry.log',
    use: 'decoded, redacted, shipped',
    code: `${shield}/entries/to-event.ts`,
    test: `${tests}/entries/to-event.test.ts`,
  },
  ...fields('EventLogEntry', entries, 'shipped as received', 'labels'),
  ...fields('EventLogEntry.labels', entries, 'a field of the event', 'asn country ruleId severity method'),
  ...fields(
    'EventLogEntry.labels',
    { ...entries, test: `${tests}/entries/to-event.test.ts` },
    'a field of the event',
    'ruleGroup status',
  ),
  ...fields('EventLogEntry.labels', entries, 'a field of the event', 'serverZone'),
  ...fields('ProblemDetails', problems, told, 'title status detail'),
  ...fields('ProblemDetails', problems, 'not shown: it may repeat the request', 'type instance'),
  ...fields('ValidationProblem', problems, told, 'title status detail errors id'),
  ...fields('ValidationProblem', problems, 'not shown: it may repeat the request', 'instance'),
  ...fields('ValidationProblem.errors', problems, told, 'message field'),
  {
    item: 'variableTypes keys',
    use: 'all 27, and no other',
    code: `${shield}/rules/update.ts`,
    test: 'test/docs/interface.test.ts',
    word: 'variables',
  },
  ...['ActionType', 'OperatorType', 'SeverityType', 'TransformationType'].map(enumerationRow),
  ...['CounterKeyType', 'Timeframe', 'BlockTime'].map(enumerationRow),
  {
    item: 'HttpStatusCode',
    use: 'any number is kept and shown',
    ...rules,
    word: 'statusCode',
  },
  answerRow('rate-limit update 200 RateLimitRule', 'the rule, or an error in its body', outcomes, 'updated'),
  answerRow('rate-limit update 202 AcceptedResult', 'read by its body', outcomes, 'accepted'),
  answerRow('rate-limit update 401 UnauthorizedResult', 'the key is refused', errors, 'statusCode'),
  answerRow('rate-limit update 500 without a body', 'the outcome is not known', outcomes, 'server_error'),
  answerRow('volume list error ProblemDetails', told, problems, 'detail'),
  answerRow('volume list error ValidationProblem', `${told}, each field`, problems, 'errors'),
  answerRow(
    'upload scanning error with statusCode',
    'by that status, also where HTTP says 200',
    { ...errors, test: figures.test },
    'statusCode',
  ),
  answerRow('event logs error ProblemDetails', told, errors, 'title'),
  answerRow('requestCount int32', 'refused before anything is sent', updates, 'requestCount'),
  answerRow('timeframe values', 'refused before anything is sent', updates, 'timeframe'),
  answerRow('blockTime values', 'refused before anything is sent', updates, 'blockTime'),
  answerRow('id of the path int32', 'refused before anything is sent', outcomes, 'id'),
  answerRow(
    'AccessKey header',
    'sent with every request',
    { code: `${shield}/client/client.ts`, test: `${tests}/client/client.test.ts` },
    '(?:AccessKey|accesskey)',
  ),
]

function enumerationRow(name: string): InterfaceRow {
  return {
    item: name,
    use: 'by number and name; unknown ones are kept',
    code: `${shield}/rules/update.ts`,
    test: 'test/docs/interface.test.ts',
  }
}

function answerRow(item: string, use: string, place: Place, word: string): InterfaceRow {
  return { item, use, ...place, word }
}

/** Markdown table of the whole interface. */
export function interfaceReference(): string {
  const cells = interfaceRows.map(({ item, use, code, test }) => [
    `\`${item}\``,
    use,
    `\`${code}\``,
    `\`${test}\``,
  ])
  return markdownTable(['Interface', 'Use', 'Code', 'Test'], cells)
}
