import type { Source } from '../../src/ports/delivery.ts'
import { PageBudget } from '../../src/shield/client/page-budget.ts'
import type { EventLogSource } from '../../src/shield/event-logs.ts'

/** A source whose pages take 10 bytes of memory each, of its sink. */
export function withMemory(source: Source, budget = new PageBudget(1e9)): EventLogSource {
  return {
    reserve: ({ sink, ifRoom }, signal) => budget.reserve(() => 10, signal, sink, ifRoom),
    async fetchPage(request, signal, memory) {
      const own = memory ?? (await budget.reserve(() => 10, signal, request.sink))
      return { ...(await source.fetchPage(request, signal)), release: own.release }
    },
  }
}
