import type { Audit } from '../../assemble/audit.ts'
import { jsonResult } from '../terminal/json-result.ts'

/** One document. `isEqual` is true where all was compared and nothing differs. */
export function auditJson({ days, targets, audited, blind }: Audit, isEqual: boolean): string {
  const streams = audited.flatMap((each) => each.streams)
  const files = audited.flatMap((each) => each.files)
  const total = (name: 'missing' | 'extra' | 'notYetDue') => {
    let sum = 0
    for (const stream of streams) sum += stream[name]
    return sum
  }
  const reached = new Map(audited.map((each) => [each.target, each]))
  const notCompared = targets.flatMap((target) => {
    const each = reached.get(target)
    if (each !== undefined && each.failure === undefined) return []
    const why = each?.failure?.message ?? 'stopped before it was compared'
    return [{ zone: target.zone.id, name: target.zone.name, day: target.day, why }]
  })
  const unrepaired = audited.flatMap(({ target, unrepaired: own }) =>
    own.map(({ sink, why }) => ({ zone: target.zone.id, day: target.day, sink, why })),
  )
  return jsonResult({
    days,
    isEqual,
    missing: total('missing'),
    extra: total('extra'),
    notYetDue: total('notYetDue'),
    streams,
    ...(files.length > 0 && { files }),
    notCompared,
    ...(unrepaired.length > 0 && { unrepaired }),
    ...(blind !== undefined && { why: blind }),
  })
}
