import { describe, expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/domain/audit-report.ts'
import { buildCheckpoint, buildCommit, buildHolder, buildStream, nothingOld } from './builders.ts'
import type { OpenedStore } from './opened-store.ts'

const record: AuditRecord = {
  atMs: 1_795_000_000_000,
  version: '1.0.0',
  isEqual: false,
  listed: 12,
  ledger: 10,
  missing: 2,
  extra: 0,
  notYetDue: 0,
  isByCounts: false,
}

export function auditsContract(opened: () => OpenedStore): void {
  describe('the latest audit of a stream', () => {
    const stream = buildStream()

    it('is kept beside its checkpoint, and disturbs no pump', async () => {
      const { store, reopen } = opened()
      const { fence } = await store.ledger.take(stream, buildHolder('one'))
      await store.ledger.commit(buildCommit(stream, fence, 0))
      expect(await store.ledger.auditOf(stream)).toBeUndefined()
      const before = await store.catalogue.checkpoints()
      const other = await reopen()
      await other.ledger.noteAudit(stream, record)
      const later = { ...record, atMs: record.atMs + 1, isEqual: true, missing: 0 }
      await other.ledger.noteAudit(stream, later)
      expect(await store.ledger.auditOf(stream)).toEqual(later)
      // The list was not read again.
      expect((await store.catalogue.checkpoints())[0]).toBe(before[0])
      expect(await store.ledger.holds(stream, fence)).toBe(true)
      expect(await store.ledger.commit(buildCommit(stream, fence, 1))).toBe('done')
      expect(await store.ledger.auditOf(stream)).toEqual(later)
    })

    it('follows a renamed sink, and is gone with its stream', async () => {
      const { store } = opened()
      const { fence } = await store.ledger.take(stream, buildHolder('one'))
      const next = buildCheckpoint(stream, 1, { ended: { as: 'complete', atMs: 5 } })
      await store.ledger.commit(buildCommit(stream, fence, 0, { next }))
      await store.ledger.noteAudit(stream, record)
      await store.ledger.release(stream, fence)
      await store.upkeep.renameSink('archive', 'siem')
      const moved = buildStream({ sink: 'siem' })
      expect(await store.ledger.auditOf(moved)).toEqual(record)
      expect(await store.ledger.auditOf(stream)).toBeUndefined()
      await store.upkeep.prune([moved], nothingOld)
      expect(await store.ledger.auditOf(moved)).toBeUndefined()
    })

    it('is not kept of a stream that was never pumped', async () => {
      const { store } = opened()
      await store.ledger.noteAudit(stream, record)
      expect(await store.ledger.auditOf(stream)).toBeUndefined()
      expect((await store.ledger.take(stream, buildHolder('one'))).checkpoint).toBeUndefined()
      expect(await store.ledger.auditOf(stream)).toBeUndefined()
    })
  })
}
