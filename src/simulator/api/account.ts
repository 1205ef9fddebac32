import { dayOf, daysFrom, shiftDay } from '../../domain/day.ts'
import { sumOf } from '../../domain/text/terminal-text.ts'
import { parsedJson } from '../../domain/text/decode.ts'
import { isObject } from '../../domain/text/json.ts'
import { failed, jsonAnswer, problem, type Answer } from '../answer.ts'
import { createDice, hashOf } from '../entries/hash.ts'
import type { Settings } from '../options.ts'
import type { Route } from '../route.ts'

// What an account has beside its event logs.

/** Lists the zones of the account. Outside the interface that the user described: what is publicly known of it. */
export function shieldZonesAnswer(route: Route, { zones }: Settings): Answer {
  const [page, perPage] = [Number(route.query.get('page') ?? 1), Number(route.query.get('perPage') ?? 10)]
  const totalPages = Math.ceil(zones.length / perPage)
  const place = {
    totalCount: zones.length,
    totalPages,
    currentPage: page,
    // Beyond the last page the service still counts up.
    nextPage: page === totalPages ? null : page + 1,
    pageSize: perPage,
  }
  const data = zones.slice((page - 1) * perPage, page * perPage).map((id) => ({
    shieldZoneId: id,
    pullZoneId: 500_000 + id,
    planType: id % 4,
    wafEnabled: true,
    deletedDateTime: null,
  }))
  return jsonAnswer(200, { data, page: zones.length === 0 ? null : place, error: null })
}

const pastDays = 28

export function uploadScanningAnswer({ zone = 0 }: Route, { clock, seed }: Settings): Answer {
  const today = dayOf(clock.now())
  const dice = createDice(seed + zone)
  const days = daysFrom(shiftDay(today, 1 - pastDays), today).map((day) => {
    const filesScanned = dice.upTo(500)
    const blockedRequests = dice.upTo(1 + Math.floor(filesScanned / 20))
    const loggedRequests = dice.upTo(1 + Math.floor(filesScanned / 10))
    return [`${day}T00:00:00Z`, { loggedRequests, blockedRequests, filesScanned }] as const
  })
  const all = days.map(([, figures]) => figures)
  const data = {
    overviewPastTwentyEightDays: Object.fromEntries(days),
    totalLoggedRequests: sumOf(all, 'loggedRequests'),
    totalBlockedRequests: sumOf(all, 'blockedRequests'),
    totalFilesScanned: sumOf(all, 'filesScanned'),
  }
  return jsonAnswer(200, { error: null, data })
}

/** The only application of the account, with the templates of its volumes. */
const ownApp = 'shop'
const templates = [
  templateOf('data', 78, { DE: 31.2 }),
  templateOf('cache', 14, { NY: 13.58, DE: 4.2, SG: 1.12 }),
  templateOf('uploads', 93, { DE: 80.91, SG: 0 }),
]

/** In GB; `usages` by region. The second instance is attached to nothing. */
function templateOf(name: string, size: number, usages: Readonly<Record<string, number>>) {
  const idOf = (prefix: string, index = 0) => `${prefix}-${hashOf(`${name} ${index}`).toString(16)}`
  const volumeInstances = Object.entries(usages).map(([region, usage], index) => {
    const isAttached = index !== 1
    return {
      id: idOf('vi', index),
      attachedPods: isAttached ? [idOf('pod', index)] : [],
      attachedContainers: isAttached ? [idOf('ctr', index)] : [],
      region,
      size,
      usage,
      set: isAttached ? 'Attached' : 'Detached',
    }
  })
  const attached = volumeInstances.filter(({ set }) => set === 'Attached').length
  return {
    name,
    id: idOf('vt'),
    size,
    totalUsage: sumOf(volumeInstances, 'usage'),
    totalInstancesCount: volumeInstances.length,
    attachedInstancesCount: attached,
    containersCount: attached,
    volumeInstances,
  }
}

export function volumesAnswer(route: Route, { pageSize }: Settings): Answer {
  if (route.app !== ownApp) return problem(404, `Application '${route.app}' was not found.`, route)
  const cursorOf = (offset: number) => Buffer.from(`${offset}|${ownApp}`).toString('base64')
  const cursor = route.query.get('nextCursor') ?? cursorOf(0)
  const start = templates.findIndex((_, index) => cursorOf(index) === cursor)
  if (start < 0) return problem(400, 'is not a valid cursor', route, 'nextCursor')
  const end = start + pageSize
  const attached = sumOf(templates, 'attachedInstancesCount')
  return jsonAnswer(200, {
    items: templates.slice(start, end),
    // On a later page the service counts only the remaining items.
    meta: { totalItems: templates.length - start },
    cursor: end < templates.length ? cursorOf(end) : null,
    summary: {
      totalPods: attached,
      totalContainers: attached,
      totalStorage: sumOf(
        templates.flatMap((one) => one.volumeInstances),
        'size',
      ),
    },
  })
}

/** A rate limit rule, in the fields of the API. */
export type Rule = Readonly<Record<string, unknown>> & { readonly ruleConfiguration: object }

/** One for each zone, numbered from 1. */
export function rulesOf(zones: readonly number[]): Map<number, Rule> {
  return new Map(zones.map((zone, index) => [index + 1, ruleOf(index + 1, zone)]))
}

function ruleOf(id: number, shieldZoneId: number): Rule {
  const ruleConfiguration = {
    actionType: 1,
    variableTypes: { REQUEST_URI: '' },
    operatorType: 0,
    severityType: 1,
    transformationTypes: [8, 19],
    value: '/login',
    isNegated: false,
    isRegexVariable: false,
    requestCount: 60,
    counterKeyType: 0,
    timeframe: 60,
    blockTime: 300,
    chainedRuleConditions: null,
  }
  return {
    id,
    shieldZoneId,
    userId: null,
    ruleName: `Login ${id}`,
    ruleDescription: 'Slows down password guessing',
    ruleJson: JSON.stringify(ruleConfiguration),
    ruleConfiguration,
    errorResponse: { statusCode: 200, success: true, message: null, errorKey: null },
  }
}

/** Fields that the request leaves out keep their values. */
export function updateAnswer(route: Route, body: string, rules: Map<number, Rule>): Answer {
  const update = parsedJson(body)
  if (!isObject(update)) return problem(400, 'The request body is not a JSON object.', route)
  const id = route.rule!
  const rule = rules.get(id)
  if (rule === undefined)
    return failed(route, 202, 'not_found_or_unauthorised_access.waf_rule', 'Rate limit rule was not found.')
  const ruleConfiguration = { ...rule.ruleConfiguration, ...(update['ruleConfiguration'] as object) }
  const updated = { ...rule, ...update, ruleConfiguration, ruleJson: JSON.stringify(ruleConfiguration) }
  rules.set(id, updated)
  return jsonAnswer(200, updated)
}
