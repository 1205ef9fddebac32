import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../../clock.ts'
import { policyOf } from '../../config/policy.ts'
import type { Config, SinkConfig } from '../../config/schema.ts'
import { daysFrom, firstReadable, type Day } from '../../domain/day.ts'
import type { Identity } from '../../domain/event/event.ts'
import { isFailure, messageOf } from '../../domain/failure.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { keepLatest } from '../../domain/promises.ts'
import type { Zone } from '../../domain/stream.ts'
import { formats, type FormatName } from '../../formats/registry.ts'
import type { SinkFiles } from '../../ports/delivery.ts'
import { auditDays, type AuditProgress, type Finding } from './audit-days.ts'
import type { Store } from '../../ports/store.ts'
import { detailsOf, type Audit } from './details.ts'
import { heldSinks } from '../../assemble/held-sinks.ts'
import { hasParts, openParts } from '../../assemble/parts.ts'
import { workersOn, stateName } from '../../assemble/state.ts'
import { version } from '../../assemble/version.ts'
import { openWork, type Work } from '../../assemble/work.ts'

interface AuditRequest {
  readonly zones: readonly Zone[]
  /** Absent: all days that should be readable, without those before the first day of a route. */
  readonly days: readonly Day[] | undefined
  readonly sinks: readonly SinkConfig[]
  readonly repair: boolean
  /** Also reads the parts of file sinks and the objects of s3 sinks, line by line. */
  readonly deep: boolean
  /** Also gives the days in detail, for a report. */
  readonly report: boolean
  /** Reports slow steps to the user. */
  readonly tell: (text: string) => void
  /** Called after each zone's day. */
  readonly progressed: (progress: AuditProgress) => void
}

const rememberedMs = 2_000

/** Compares days with the store, and repairs differences if requested. Throws only bugs; a stop ends it early. */
export async function audit(config: Config, request: AuditRequest, signal: AbortSignal): Promise<Audit> {
  const today = todayOf(systemClock.now())
  const { days = daysFrom(firstReadable(today, config.poll.readableDays), today) } = request
  const nothing = { days, findings: [] }
  try {
    await using work = await openWork(config, { store: 'existing', sharesBudgets: true }, signal)
    const compare = () => auditOver(work, days, request, signal)
    if (work.hasStore) return await (request.repair ? work.beating(compare) : compare())
    const why = `there is no store at ${stateName(config)}: nothing was shipped yet, so there is nothing to compare`
    return { ...nothing, blind: why }
  } catch (error) {
    if (!isFailure(error)) throw error
    return error.code === 'cancelled' ? nothing : { ...nothing, blind: messageOf(error) }
  }
}

async function auditOver(
  work: Work,
  days: readonly Day[],
  request: AuditRequest,
  signal: AbortSignal,
): Promise<Audit> {
  const { config, store, reading, runtime } = work
  const { zones, sinks, repair, deep, report, tell, progressed } = request
  const shipping = await work.shipping({ delivers: repair })
  await using opened = new AsyncDisposableStack()
  const files = new Map<string, SinkFiles>()
  for (const sink of sinks)
    if (hasParts(sink)) {
      const parts = opened.use(openParts(sink, runtime, signal))
      files.set(sink.name, { ...parts, identify: identifyAny(sink.format) })
    }
  const askShipping = async () => (await workersOn(config, store, runtime.clock)).length > 0
  const { deps: pumpDeps, pump } = shipping
  const repairing = { pumpDeps, held: await heldSinks(config, store), pump, tell }
  const auditing = {
    ...runtime,
    source: reading.source,
    store,
    policy: policyOf(config),
    isShipping: keepLatest(askShipping, rememberedMs, runtime.clock).read,
    files,
    deep,
    report,
    progressed,
    ...(repair && { repair: repairing }),
  }
  const names = sinks.map(({ name }) => name)
  const choice = { zones, sinks: names, days, areDaysNamed: request.days !== undefined }
  const findings = await auditDays(choice, auditing, signal)
  await noteAudits(findings, store, runtime.clock.now()).catch((error: unknown) => {
    if (!isFailure(error)) throw error
    // The result itself is whole.
    tell(`the status page does not show this audit: ${messageOf(error)}`)
  })
  const found = { days, findings, storeId: store.id }
  if (!report) return found
  const { planner, settings } = shipping
  const deps = { ...runtime, store, planner, settings, version, turn: setImmediate }
  return { ...found, ...(await detailsOf(findings, deps)) }
}

/** The status page shows the latest audit of a day. */
async function noteAudits(findings: readonly Finding[], store: Store, atMs: number): Promise<void> {
  for (const { stream: found } of findings) {
    if (found === undefined) continue
    const { zone, day, sink, isEqual, listed, ledger, missing, extra, notYetDue, isByCounts } = found
    const record = { isEqual, listed, ledger, missing, extra, notYetDue, isByCounts }
    await store.ledger.noteAudit({ zone, day, sink }, { atMs, version, ...record })
  }
}

/** Parts may hold lines of a format that the sink had before. */
function identifyAny(first: FormatName): (line: string) => Identity | undefined {
  const others = Object.keys(formats).filter((name) => name !== first) as FormatName[]
  const all = [first, ...others].map((name) => formats[name]())
  return (line) => {
    for (const format of all) {
      const identity = format.identify(line)
      if (identity !== undefined) return identity
    }
    return undefined
  }
}
