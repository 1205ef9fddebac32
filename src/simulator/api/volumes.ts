import { createDice, hashOf, hex4 } from '../entries/hash.ts'
import { jsonAnswer, problem, validationProblem, type Answer } from '../answer.ts'
import type { Route } from '../route.ts'
import type { Settings } from '../options.ts'
import type { VolumeInstance, VolumeTemplate } from '../wire.ts'

/** The only application of the account; its templates are derived from its name. */
const ownApp = 'shop'

export function volumesAnswer(route: Route, { seed, pageSize }: Settings): Answer {
  const appId = route.appId ?? ''
  if (appId !== ownApp) return problem(404, `Application '${appId}' was not found.`, route)
  const templates = generated(appId, seed)
  const cursor = route.query.get('nextCursor')
  const start = cursor === null ? 0 : offsetOf(cursor, appId)
  if (start === undefined)
    return validationProblem(400, [{ field: 'nextCursor', message: 'is not a valid cursor' }], route)
  const items = templates.slice(start, start + pageSize)
  const more = start + items.length < templates.length
  return jsonAnswer(200, {
    items,
    // On a later page the service counts only the remaining items.
    meta: { totalItems: templates.length - start },
    cursor: more ? cursorOf(start + items.length, appId) : null,
    summary: summaryOf(templates),
  })
}

function cursorOf(offset: number, appId: string): string {
  return Buffer.from(`${offset}|${appId}`).toString('base64')
}

function offsetOf(cursor: string, appId: string): number | undefined {
  const [offset = '', ...rest] = Buffer.from(cursor, 'base64').toString('utf8').split('|')
  return /^\d{1,9}$/.test(offset) && rest.join('|') === appId ? Number(offset) : undefined
}

function summaryOf(templates: readonly VolumeTemplate[]): object {
  const pods = new Set<string>()
  const containers = new Set<string>()
  let totalStorage = 0
  for (const template of templates) {
    totalStorage += template.size * template.totalInstancesCount
    for (const instance of template.volumeInstances) {
      for (const pod of instance.attachedPods) pods.add(pod)
      for (const container of instance.attachedContainers) containers.add(container)
    }
  }
  return { totalPods: pods.size, totalContainers: containers.size, totalStorage }
}

function generated(appId: string, seed: number): readonly VolumeTemplate[] {
  const dice = createDice(seed ^ hashOf(appId))
  const id = (prefix: string): string => `${prefix}-${hex4(dice.upTo(65_536))}${hex4(dice.upTo(65_536))}`
  return ['data', 'cache', 'uploads'].map((name) => {
    const size = 1 + dice.upTo(100)
    const volumeInstances = Array.from({ length: 1 + dice.upTo(3) }, (): VolumeInstance => {
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
    let totalUsage = 0
    for (const instance of volumeInstances) totalUsage += instance.usage
    const attached = volumeInstances.filter((instance) => instance.attachedPods.length > 0).length
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
