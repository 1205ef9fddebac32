/** Every field of every resource, as the description of the interface lists it, written by hand from it. */
export const fieldsOf: Readonly<Record<string, string>> = {
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
