import type { LivingProcess, ProcessFacts, Processes } from '../../ports/store.ts'
import { heardWithinUs, type LedgerDeps } from './streams.ts'
import { byText, jsonOf, readAll, readMany, textOf } from './values.ts'

export function createProcesses({ records, root }: LedgerDeps): Processes {
  return {
    async living() {
      const all = await readAll(records, 'processes', (_, value) => jsonOf<ProcessFacts>(value))
      const beats = await readMany(records, 'holders', [...all.keys()])
      const nowUs = await root.refresh()
      const living = [...all].flatMap(([id, facts], index): LivingProcess[] => {
        const heardUs = beats[index] === undefined ? 0 : Number(textOf(beats[index]))
        return nowUs - heardUs < heardWithinUs ? [{ ...facts, id, heardAtMs: heardUs / 1_000 }] : []
      })
      living.sort((one, other) => one.startedAtMs - other.startedAtMs || byText(one.id, other.id))
      return { nowMs: nowUs / 1_000, living }
    },
    forget: async (id) =>
      void (await records.write({ when: [], remove: [['processes', id]], loosely: true })),
  }
}
