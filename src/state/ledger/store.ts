import type { AuditRecord } from '../../domain/audit-report.ts'
import type { Ledger, Store } from '../../ports/store.ts'
import { createHolders, readHead, type LedgerDeps } from './streams.ts'
import { createBackfills } from './backfills.ts'
import { createCatalogue } from './catalogue.ts'
import { createCommits } from './commits.ts'
import { createDeadLetters } from './dead-letters.ts'
import { createMinutes, createLoadSeen } from './seen.ts'
import { Root, type RootOptions } from './root.ts'
import { createProcesses } from './processes.ts'
import { createRenameSink, createPrune } from './upkeep.ts'
import { jsonOf } from './values.ts'

interface LedgerOptions extends RootOptions {
  /** Of each sink. */
  readonly deadLetterMaxBytes: number
  /** False refuses records without a store instead of making one there. */
  readonly create?: boolean
}

/** A store over records; makes it if there is none. Throws `no_store` and `store_refuses`, and closes the records then. */
export async function openLedger(options: LedgerOptions): Promise<Store> {
  const { records, clock, deadLetterMaxBytes, create = true } = options
  const root = new Root(options)
  try {
    await root.open(create)
  } catch (error) {
    await records.close()
    throw error
  }
  const deps: LedgerDeps = { records, clock, root, own: new Map() }
  const { dropIndex, ...minutes } = createMinutes(deps)
  const backfills = createBackfills(deps)
  const processes = createProcesses(deps)
  return {
    get id() {
      return root.id
    },
    ledger: {
      ...createHolders(deps),
      commit: createCommits(deps, deadLetterMaxBytes),
      loadSeen: createLoadSeen(deps),
      ...minutes,
      ...createAudits(deps),
    },
    catalogue: createCatalogue(deps),
    deadLetters: createDeadLetters(deps),
    backfills,
    processes,
    upkeep: {
      dropIndex,
      renameSink: createRenameSink(deps),
      prune: createPrune({ ...deps, backfills, processes }),
    },
    close: () => records.close(),
  }
}

/** Nothing is decided by an audit, so it depends on nothing but that the stream was once pumped. */
function createAudits({ records, root }: LedgerDeps): Pick<Ledger, 'noteAudit' | 'auditOf'> {
  return {
    noteAudit: (stream, record) =>
      root.under(stream, async (key) => {
        if ((await readHead(records, key)) === undefined) return
        await records.write({ when: [], put: [['audits', key, JSON.stringify(record)]], loosely: true })
      }),
    auditOf: (stream) =>
      root.under(stream, async (key) => {
        const { heads, audits } = (await records.read({ heads: [key], audits: [key] })).found
        return heads[0] && audits[0] && jsonOf<AuditRecord>(audits[0])
      }),
  }
}
