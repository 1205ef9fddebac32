import { setImmediate } from 'node:timers/promises'
import { heldSinks } from '../../assemble/held-sinks.ts'
import { hasParts, openParts } from '../../assemble/sink-files.ts'
import { stateName, workersOn } from '../../assemble/state.ts'
import { version } from '../../assemble/version.ts'
import { openWork, type Work } from '../../assemble/work.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema.ts'
import { fewOfAccounts } from '../../days/few-of-accounts.ts'
import { type PartReport, isSettled } from '../../domain/audit-report.ts'
import { daysFrom, firstReadable, hasDay, type Day } from '../../domain/day.ts'
import type { Identity } from '../../domain/event/event.ts'
import { isFailure, messageOf, type Failure } from '../../domain/failure.ts'
import { todayOf } from '../../domain/plan/stream-state.ts'
import { keepLatest } from '../../domain/promises.ts'
import { routeKey, type Stream } from '../../domain/stream.ts'
import { formats, type FormatName } from '../../formats/registry.ts'
import type { SinkFiles } from '../../ports/delivery.ts'
import type { Store } from '../../ports/store.ts'
import { shippedText } from '../../pump/end-stream.ts'
import { auditDay, type AuditTarget } from './audit-day.ts'
import { auditFiles, type FilesLooked } from './audit-files.ts'
import { detailsOf, type Audit } from './report-days.ts'
import { filesSaid } from './findings.ts'
import { detailBudget, type Finding } from './result.ts'
import type { AuditRequest, Auditing } from './request.ts'
import { type Repaired, repairOne, failureOf, type Looked } from './repair.ts'

/** Compares days with the store, and repairs differences if requested. Throws only bugs; a stop ends it early. */
export async function auditZones(config: Config, request: AuditRequest, signal: AbortSignal): Promise<Audit> {
  const today = todayOf(systemClock.now())
  const { days = daysFrom(firstReadable(today, config.poll.readableDays), today) } = request
  const nothing = { days, findings: [] }
  try {
    await using work = await openWork(config, { store: 'existing', sharesBudgets: true }, signal)
    const compare = () => auditOver(work, days, request, signal)
    if (work.hasStore) return await (request.repair ? work.beating(compare) : compare())
    const why = `there is no state at ${stateName(config)}: nothing was shipped yet, so there is nothing to compare`
    return { ...nothing, blind: why }
  } catch (error) {
    if (!isFailure(error)) throw error
    return error.code === 'cancelled' ? nothing : { ...nothing, blind: messageOf(error) }
  }
}

const rememberedMs = 2_000

async function auditOver(
  work: Work,
  days: readonly Day[],
  request: AuditRequest,
  signal: AbortSignal,
): Promise<Audit> {
  const { config, store, runtime } = work
  const shipping = await work.shipping({ delivers: request.repair })
  await using opened = new AsyncDisposableStack()
  const files = new Map<string, SinkFiles>()
  for (const sink of request.sinks.filter(hasParts)) {
    const parts = opened.use(openParts(sink, runtime, signal))
    files.set(sink.name, { ...parts, identify: identifyAny(sink.format) })
  }
  const askShipping = async () => (await workersOn(config, store, runtime.clock)).length > 0
  const isShipping = keepLatest(askShipping, rememberedMs, runtime.clock).read
  const held = await heldSinks(config, store)
  const auditing = { ...shipping.deps, ...request, shipping, files, held, isShipping }
  const findings = await auditDays(days, auditing, signal)
  await noteAudits(findings, store, runtime.clock.now()).catch((error: unknown) => {
    if (!isFailure(error)) throw error
    // The result itself is whole.
    request.tell(`the status page does not show this audit: ${messageOf(error)}`)
  })
  const found = { days, findings, storeId: store.id }
  if (!request.isReported) return found
  const { planner, settings } = shipping
  return {
    ...found,
    ...(await detailsOf(findings, { ...runtime, store, planner, settings, turn: setImmediate })),
  }
}

/** The status page shows the latest audit of a day. One that read no files ends nothing that one has found in them. */
async function noteAudits(findings: readonly Finding[], store: Store, atMs: number): Promise<void> {
  for (const finding of findings) {
    const { stream: found, file } = finding
    if (found === undefined) continue
    const before = file === undefined ? await store.ledger.auditOf(found) : undefined
    if (before?.files !== undefined && found.isEqual) continue
    const isEqual = found.isEqual && file?.isEqual !== false
    const files = before?.files ?? filesSaid(finding)
    const { zone, day, sink, listed, ledger, missing, extra, notYetDue, isByCounts } = found
    const record = { isEqual, listed, ledger, missing, extra, notYetDue, isByCounts, files }
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

/** Zones' days that are read at once. Files are read by the CPU of this process, so more would not be faster. */
const mostAtOnce = { usual: 4, deep: 2 }

/**
 * Compares a few days at once, by zone, then day; one that cannot be compared does not stop the others. Repairs what
 * differs where that is requested, and compares it again. Throws the Failures of a store, and bugs; a stop ends it early.
 */
async function auditDays(days: readonly Day[], auditing: Auditing, signal: AbortSignal): Promise<Finding[]> {
  const { store, deep, files } = auditing
  const targets = await targetsOf(days, auditing)
  const gaps = (await store.catalogue.gaps()).filter(({ readAt }) => readAt === undefined)
  const found = new Map<AuditTarget, readonly Finding[]>()
  const shorten = detailBudget()
  const each = ({ zone, day, sinks }: AuditTarget, failure?: Failure): Finding[] =>
    sinks.map((sink) => ({ zone: zone.id, name: zone.name, day, sink, ...(failure && { failure }) }))
  let listed = 0
  function settle(target: AuditTarget, own: readonly Finding[]): Failure | undefined {
    found.set(target, own.map(shorten))
    listed += own[0]?.stream?.listed ?? 0
    auditing.progressed({ done: found.size, all: targets.length, listed })
    return own[0]?.failure
  }
  async function work(target: AuditTarget): Promise<Failure | undefined> {
    try {
      // After a stop the others are not begun.
      return signal.aborted ? undefined : settle(target, await auditTarget(target, auditing, signal))
    } catch (error) {
      if (!isFailure(error, 'cancelled')) throw error
      return undefined
    }
  }
  const leave = (target: AuditTarget, failure: Failure) => void settle(target, each(target, failure))
  const atOnce = deep ? mostAtOnce.deep : mostAtOnce.usual
  await fewOfAccounts(targets, atOnce, ({ zone }) => zone.account, work, leave)
  const findings: Finding[] = []
  for (const target of targets) {
    const own = found.get(target) ?? each(target)
    const isCompared = own.some(({ failure, shipped }) => failure === undefined && shipped === undefined)
    for (const finding of own) {
      const { zone, day, sink, failure } = finding
      const gap = gaps.find((one) => one.zone === zone && one.day === day && one.sink === sink)
      // Where files of other sinks were compared, there is nothing to tell of one without files but a gap.
      if (isCompared && failure !== undefined && gap === undefined) continue
      const removed = files.has(sink) ? (await store.ledger.read({ zone, day, sink }))?.removed : undefined
      findings.push({ ...finding, gap, removed })
    }
  }
  return findings
}

async function targetsOf(
  all: readonly Day[],
  { zones, sinks, days, store }: Auditing,
): Promise<AuditTarget[]> {
  const routes = days === undefined ? await store.catalogue.routes() : []
  const planned = new Map(routes.map((route) => [routeKey(route.zone, route.sink), route]))
  const targets: AuditTarget[] = []
  for (const zone of zones)
    for (const day of all) {
      const chosen: string[] = []
      for (const { name: sink } of sinks) {
        const { firstDay = day, pruned = [] } = planned.get(routeKey(zone.id, sink)) ?? {}
        const isDue = day >= firstDay && !hasDay(pruned, day)
        // A backfill may have shipped an earlier day.
        if (isDue || (await store.ledger.read({ zone: zone.id, day, sink })) !== undefined) chosen.push(sink)
      }
      if (chosen.length > 0) targets.push({ zone, day, sinks: chosen })
    }
  return targets
}

/** Throws only `cancelled`, and bugs. */
async function auditTarget(
  { zone, day, sinks: all }: AuditTarget,
  auditing: Auditing,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { ledger } = auditing.store
  const repairs = new Map<string, Repaired>()
  const found = { zone: zone.id, name: zone.name, day }
  const shipped: Finding[] = []
  for (const sink of all) {
    const stream = { zone: zone.id, day, sink }
    if ((await ledger.dropped(stream)) === 'day')
      shipped.push({ ...found, sink, shipped: shippedText('day', await ledger.read(stream)) })
  }
  const sinks = all.filter((sink) => shipped.every((each) => each.sink !== sink))
  if (sinks.length === 0) return shipped
  const target = { zone, day, sinks }
  try {
    let looked = await look(target, auditing, signal)
    for (const sink of auditing.repair ? sinks : []) {
      const on = { stream: { zone: zone.id, day, sink }, zone }
      const repaired = await repairOne(on, looked, auditing, signal)
      if (repaired !== undefined) repairs.set(sink, repaired)
    }
    // Also after a failed repair: it may have shipped some events.
    if (repairs.size > 0) looked = await look(target, auditing, signal)
    const compared = sinks.flatMap((sink) => {
      const { audit, sides } = looked.streams.find((each) => each.audit.sink === sink) ?? {}
      const file = looked.files.get(sink)?.report
      if (audit === undefined && file === undefined)
        return looked.listing instanceof Error ? { ...found, sink, failure: looked.listing } : []
      const { error: unrepaired, repaired, restored, kept = 0 } = repairs.get(sink) ?? {}
      return {
        ...found,
        sink,
        stream: audit && { ...audit, ...(repaired !== undefined && { repaired }) },
        file: file && { ...file, ...(restored !== undefined && { restored, kept }) },
        sides,
        unrepaired,
      }
    })
    return [...compared, ...shipped]
  } catch (error) {
    const failure = failureOf(error)
    const failed = sinks.map((sink) => ({ ...found, sink, failure, unrepaired: repairs.get(sink)?.error }))
    return [...failed, ...shipped]
  }
}

async function look(target: AuditTarget, auditing: Auditing, signal: AbortSignal): Promise<Looked> {
  const { zone, day, sinks } = target
  const parts = new Map<string, readonly PartReport[]>()
  const files = new Map<string, FilesLooked>()
  for (const sink of sinks) {
    const stream = { zone: zone.id, day, sink }
    const own = auditing.files.get(sink)
    if (own === undefined) continue
    const differing = await differingParts(stream, own, auditing, signal)
    parts.set(sink, differing)
    // Without a ledger there is nothing to compare lines with.
    if (!auditing.deep || (await auditing.store.ledger.read(stream)) === undefined) continue
    files.set(sink, await auditFiles({ zone, stream, files: own, parts: differing }, auditing, signal))
  }
  try {
    return { ...(await auditDay(target, parts, auditing, signal)), files }
  } catch (error) {
    // Files of a day that the API no longer lists can still be compared with the ledger.
    if (files.size === 0 || !isFailure(error, 'window_closed')) throw error
    return { streams: [], files, listing: error }
  }
}

const partLooks = 5
const partPauseMs = 300

/** Looks several times: a delivery in progress lengthens a part before its new length is committed. */
async function differingParts(
  stream: Stream,
  files: SinkFiles,
  { store, clock, isShipping }: Auditing,
  signal: AbortSignal,
): Promise<readonly PartReport[]> {
  for (let looks = 1; ; looks++) {
    const checkpoint = await store.ledger.read(stream)
    const sizes = checkpoint?.objects === undefined ? [] : await store.ledger.objectSizes(stream)
    const parts = await files.compare(stream, store.id, checkpoint, sizes)
    if (parts.every(isSettled)) return parts
    if (looks < partLooks) {
      await clock.sleep(partPauseMs, signal)
      continue
    }
    // What lies beyond the committed lengths is about to be committed, or was left by a process that died.
    if (!(await isShipping())) return parts
    return parts.filter(({ problem }) => problem !== 'longer' && problem !== 'unknown')
  }
}
