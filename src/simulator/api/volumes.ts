import { jsonAnswer, problem, type Answer } from '../answer.ts'
import { createDice, hashOf, hex4 } from '../entries/hash.ts'
import type { Settings } from '../options.ts'
import type { Route } from '../route.ts'

/** The only application of the account; its templates are derived from its name. */
const ownApp = 'shop'

export function volumesAnswer(route: Route, { seed, pageSize }: Settings): Answer {
  if (route.app !== ownApp) return problem(404, `Application '${route.app}' was not found.`, route)
  const templates = generated(seed)
  const cursor = route.query.get('nextCursor')
  const start = cursor === null ? 0 : offsetOf(cursor)
  if (start === undefined) return problem(400, 'is not a valid cursor', route, 'nextCursor')
  const items = templates.slice(start, start + pageSize)
  const next = start + items.length
  const instances = templates.flatMap(({ volumeInstances }) => volumeInstances)
  const summary = {
    totalPods: instances.flatMap(({ attachedPods }) => attachedPods).length,
    totalContainers: instances.flatMap(({ attachedContainers }) => attachedContainers).length,
    totalStorage: instances.reduce((sum, { size }) => sum + size, 0),
  }
  return jsonAnswer(200, {
    items,
    // On a later page the service counts only the remaining items.
    meta: { totalItems: templates.length - start },
    cursor: next < templates.length ? cursorOf(next) : null,
    summary,
  })
}

function cursorOf(offset: number): string {
  return Buffer.from(`${offset}|${ownApp}`).toString('base64')
}

function offsetOf(cursor: string): number | undefined {
  const offset = Number.parseInt(Buffer.from(cursor, 'base64').toString('utf8'), 10)
  return cursorOf(offset) === cursor ? offset : undefined
}

function generated(seed: number) {
  const dice = createDice(seed ^ hashOf(ownApp))
  const id = (prefix: string): string => `${prefix}-${hex4(dice.upTo(65_536))}${hex4(dice.upTo(65_536))}`
  return ['data', 'cache', 'uploads'].map((name) => {
    const size = 1 + dice.upTo(100)
    const volumeInstances = Array.from({ length: 1 + dice.upTo(3) }, () => {
      const isAttached = dice.upTo(4) > 0
      return {
        id: id('vi'),
        attachedPods: isAttached ? [id('pod')] : [],
        attachedContainers: isAttached ? [id('ctr')] : [],
        region: dice.oneOf(['DE', 'NY', 'SG']),
        size,
        usage: Math.round(size * dice.upTo(100)) / 100,
        set: isAttached ? 'Attached' : 'Detached',
      }
    })
    const totalUsage = volumeInstances.reduce((sum, { usage }) => sum + usage, 0)
    const attached = volumeInstances.filter(({ attachedPods }) => attachedPods.length > 0).length
    return {
      name,
      id: id('vt'),
      size,
      totalUsage: Math.round(totalUsage * 100) / 100,
      totalInstancesCount: volumeInstances.length,
      attachedInstancesCount: attached,
      containersCount: attached,
      volumeInstances,
    }
  })
}
