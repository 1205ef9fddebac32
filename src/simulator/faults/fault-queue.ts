import { formOf } from '../api/event-logs.ts'
import type { Fault, FaultMatch, FaultMemory, FaultRule } from './fault.ts'
import type { Route } from '../route.ts'

export interface TakenFault {
  readonly fault: Fault
  readonly memory: FaultMemory
}

/** Rules in the order they were added: the first rule that matches a request applies. */
export interface FaultQueue {
  add(rule: FaultRule): void
  take(route: Route, firstPage: string): TakenFault | undefined
  clear(): void
}

interface Pending {
  readonly rule: FaultRule
  readonly memory: FaultMemory
  left: number
  met: number
}

const ofEventLogs =
  'wrongTypes emptyPageWithMore repeatToken cycleTokens moreWithoutToken missingIds repeatedEntries sharedIds badEntries ' +
  'duplicateKeys nonUtf8 expiredToken'
const pageFaults = new Set<string>(ofEventLogs.split(' '))

export function createFaultQueue(): FaultQueue {
  let queue: Pending[] = []
  return {
    add: (rule) => {
      const { times = 1, every = 1 } = rule
      if (!(times > 0) || !(every > 0)) {
        throw new RangeError(`fault rule: times is ${times}, every is ${every}; both take a number above 0`)
      }
      const { fault } = rule
      if ('status' in fault && fault.status !== undefined && (fault.status < 200 || fault.status > 599)) {
        throw new RangeError(`fault ${fault.kind}: status is ${fault.status}; it takes 200 to 599`)
      }
      queue.push({
        rule,
        left: times,
        met: 0,
        memory: { tokens: new Map(), pages: new Map(), entries: new Map() },
      })
    },
    take: (route, firstPage) => {
      for (const pending of queue) {
        if (!matches(pending.rule, route, firstPage)) continue
        pending.met++
        if (pending.met % (pending.rule.every ?? 1) !== 0) continue
        pending.left--
        if (pending.left <= 0) queue = queue.filter((other) => other !== pending)
        return { fault: pending.rule.fault, memory: pending.memory }
      }
      return undefined
    },
    clear: () => {
      queue = []
    },
  }
}

function matches(rule: FaultRule, route: Route, firstPage: string): boolean {
  const match: FaultMatch = rule.match ?? {}
  // A page fault is not used up by a request for another operation.
  if (pageFaults.has(rule.fault.kind) && route.operation !== 'eventLogs') return false
  if (rule.fault.kind === 'repeatCursor' && route.operation !== 'volumes') return false
  if (match.operation !== undefined && match.operation !== route.operation) return false
  if (match.zone !== undefined && match.zone !== route.zone) return false
  if (match.day !== undefined && match.day !== route.day) return false
  const form = formOf(route, firstPage)
  if (match.firstPage !== undefined && match.firstPage !== (form === 'first')) return false
  return rule.fault.kind !== 'expiredToken' || form === 'token'
}
