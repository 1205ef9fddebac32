import { dayOf, daysFrom, shiftDay } from '../../domain/day.ts'
import { jsonAnswer, problem, type Answer } from '../answer.ts'
import { createDice, hashOf } from '../entries/hash.ts'
import type { Settings } from '../options.ts'
import type { Route } from '../route.ts'

// What is read of an account beside the event logs.

/** What a parameter of the query is without a value, and its limits. */
const parameters = { page: [1, 2 ** 31 - 1], perPage: [10, 1000] } as const

/** Lists the zones of the account. Outside the interface that the user described: what is publicly known of it. */
export function shieldZonesAnswer(route: Route, { zones }: Settings): Answer {
  const numberOf = (name: keyof typeof parameters) =>
    Number(route.query.get(name)?.replace(/^\D.*/, '') ?? parameters[name][0])
  for (const name of ['page', 'perPage'] as const) {
    const [, most] = parameters[name]
    const value = numberOf(name)
    if (!(value >= 1 && value <= most)) return problem(400, `must be between 1 and ${most}`, route, name)
  }
  const [page, perPage] = [numberOf('page'), numberOf('perPage')]
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
  const data = { totalLoggedRequests: 0, totalBlockedRequests: 0, totalFilesScanned: 0 }
  const days = daysFrom(shiftDay(today, 1 - pastDays), today).map((day) => {
    const filesScanned = dice.upTo(500)
    const blockedRequests = dice.upTo(1 + Math.floor(filesScanned / 20))
    const loggedRequests = dice.upTo(1 + Math.floor(filesScanned / 10))
    data.totalLoggedRequests += loggedRequests
    data.totalBlockedRequests += blockedRequests
    data.totalFilesScanned += filesScanned
    return [`${day}T00:00:00Z`, { loggedRequests, blockedRequests, filesScanned }] as const
  })
  return jsonAnswer(200, {
    error: null,
    data: { overviewPastTwentyEightDays: Object.fromEntries(days), ...data },
  })
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
    totalUsage: volumeInstances.reduce((sum, { usage }) => sum + usage, 0),
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
  const attached = templates.reduce((sum, { attachedInstancesCount }) => sum + attachedInstancesCount, 0)
  return jsonAnswer(200, {
    items: templates.slice(start, end),
    // On a later page the service counts only the remaining items.
    meta: { totalItems: templates.length - start },
    cursor: end < templates.length ? cursorOf(end) : null,
    summary: {
      totalPods: attached,
      totalContainers: attached,
      totalStorage: templates.reduce(
        (sum, { size, volumeInstances }) => sum + size * volumeInstances.length,
        0,
      ),
    },
  })
}
