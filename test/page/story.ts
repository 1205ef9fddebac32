import type { Checkpoint, Trouble } from '../../src/domain/checkpoint.ts'
import { endOf, shiftDay, startOf } from '../../src/domain/day.ts'
import type { MinuteCount } from '../../src/domain/event/seen.ts'
import { streamKey, type Stream } from '../../src/domain/stream.ts'
import type { LagHistory } from '../../src/status/lag-history.ts'
import { at, buildCheckpoint, buildRecord, hourMs, minuteMs, policy, today } from '../domain/builders.ts'
import { emptyWorld, type World } from './world.ts'

/** A day that was read to its end, in the state that its age gives it. */
export function readDay(stream: Stream, events: number, more: Partial<Checkpoint> = {}): Checkpoint {
  const { day } = stream
  const last = policy.settleAfterMs.at(-1)!
  const isToday = day === today
  const beganAtMs = isToday ? at(14) + 183_000 : Math.min(endOf(day) + last, at(14))
  const isComplete = endOf(day) + last < at(14)
  return buildCheckpoint({
    stream,
    commit: 412,
    counters: {
      pages: Math.ceil(events / 1000) + 40,
      events: events + 212,
      delivered: events,
      duplicates: 212,
      late: 4,
      deadLetters: 0,
    },
    ordering: { order: 'newest-first', cursorProven: false, revocations: 0 },
    lastFull: buildRecord({
      beganAtMs: isToday ? at(13) : beganAtMs,
      endedAtMs: (isToday ? at(13) : beganAtMs) + 41_000,
      pages: Math.ceil(events / 1000) + 1,
      found: 3,
      tookMs: 38_000,
    }),
    ...(isToday && {
      lastIncremental: buildRecord({
        beganAtMs,
        endedAtMs: beganAtMs + 900,
        pages: 2,
        found: 51,
        tookMs: 600,
      }),
    }),
    caughtUpAtMs: beganAtMs,
    newestMs: isToday ? at(14) + 189_000 : endOf(day) - 1_000,
    lastCommitAtMs: beganAtMs + 900,
    ...(isComplete && { ended: { as: 'complete', atMs: endOf(day) + last + 60_000 } }),
    ...more,
  })
}

export function trouble(message: string, sinceMs: number, more: Partial<Trouble> = {}): Trouble {
  return {
    kind: 'retry',
    code: 'server_error',
    message,
    count: 6,
    sinceMs,
    atMs: at(14) + 150_000,
    retryAtMs: at(14) + 240_000,
    ...more,
  }
}

/** A day with a busy time, and an attack. The counts of its minutes add up to the events. */
function minutesOf({ day, zone }: Stream, events: number, untilMs: number): MinuteCount[] {
  const first = startOf(day) / minuteMs
  const weights = Array.from({ length: Math.min(1440, untilMs / minuteMs - first) }, (_, minute) => {
    const attack = minute > 782 && minute < 806 ? 3 : 0
    return attack + 1.4 + Math.sin(minute / 229 - 1.6) + 0.2 * Math.sin(minute * 7.3 + zone)
  })
  const sum = weights.reduce((total, weight) => total + weight, 0)
  let [weighed, given] = [0, 0]
  return weights.map((weight, index) => {
    weighed += weight
    const count = Math.round((weighed / sum) * events) - given
    given += count
    return { minute: first + index, count, hash: BigInt(index * 7_919 + count) * 0x9e37_79b9n }
  })
}

export function zonesOf(count: number) {
  return Array.from({ length: count }, (_, index) => {
    return { id: 1000 + index, name: `zone-${index}`, account: 'default' }
  })
}

const storyZones = ['101 shop', '102 blog', '107 api', '110 docs'].map((zone) => {
  const [id, name = ''] = zone.split(' ')
  return { id: Number(id), name, account: 'default' }
})

/** A fleet of four zones and two sinks with one of everything: what the pictures in the documentation show. */
export function story(): World {
  const days = Array.from({ length: 17 }, (_, back) => shiftDay(today, back - 16))
  const world = emptyWorld([...storyZones], ['archive', 'siem'], days[0])
  const usual: Readonly<Record<number, number>> = { 101: 182_440, 107: 61_020, 102: 8_204, 110: 930 }
  for (const { id: zone } of world.zones)
    for (const sink of world.sinks)
      for (const [index, day] of days.entries()) {
        // Docs → siem is new.
        if (zone === 110 && sink === 'siem' && index < 12) continue
        const stream = { zone, day, sink }
        const isToday = day === today
        const share = isToday ? 0.62 : 0.9 + 0.2 * Math.abs(Math.sin(index * 1.7 + zone))
        const events = Math.round(usual[zone]! * share)
        world.checkpoints.push(readDay(stream, events))
        if (index > 9)
          world.minutes.set(streamKey(stream), minutesOf(stream, events, isToday ? at(14) : Infinity))
      }
  const stream = (zone: number, sink: string, back = 0) => ({ zone, sink, day: shiftDay(today, -back) })
  const downSince = at(13) + 51 * minuteMs
  change(world, stream(101, 'siem'), {
    caughtUpAtMs: downSince,
    newestMs: downSince,
    trouble: trouble('https://splunk.example:8088 answered 503', downSince),
  })
  const gone = stream(101, 'siem', 6)
  const goneAtMs = endOf(gone.day) + 48 * hourMs
  world.gaps.push({
    ...gone,
    from: startOf(gone.day) + 20 * hourMs,
    to: endOf(gone.day),
    reason: 'unreadable',
    recordedAt: goneAtMs,
  })
  change(world, gone, { ended: { as: 'expired', atMs: goneAtMs } })
  const late = stream(110, 'archive', 9)
  change(world, late, { ended: { as: 'expired', atMs: endOf(late.day) + 48 * hourMs } })
  const refusing = stream(107, 'siem', 3)
  world.deadLetters.push(
    { ...refusing, reason: 'refused', count: 9, bytes: 11_204 },
    { ...refusing, reason: 'too_large', count: 3, bytes: 3_400_112 },
  )
  const audited = stream(101, 'archive')
  change(world, audited, {
    committed: [
      { writer: 'k3v9', part: '0001-k3v9.ndjson', lines: 90_112, bytes: 61_276_160 },
      { writer: 'k3v9', part: '0002-k3v9.ndjson', lines: 23_001, bytes: 15_640_680 },
    ],
  })
  change(world, stream(102, 'archive'), { objects: { last: 2, bytes: 1_234_567 } })
  const same = { isEqual: true, listed: 102_400, ledger: 102_400, missing: 0, extra: 0 }
  const record = { ...same, atMs: at(13), version: '1.0.0', notYetDue: 0, isByCounts: false }
  world.audits.set(streamKey(audited), record)
  change(world, stream(110, 'siem', 1), { lastFull: undefined, caughtUpAtMs: at(-7) })
  world.backfills.push({
    id: '5f0c1d2e3a',
    createdAtMs: world.nowMs - 130_000,
    from: shiftDay(today, -2),
    to: today,
    state: 'running',
    streams: [2, 1, 0].map((back) => ({
      stream: stream(102, 'siem', back),
      state: back === 2 ? 'done' : 'queued',
    })),
  })
  return world
}

/** Changes the checkpoint of a stream. */
export function change(
  world: World,
  stream: Stream,
  by: { readonly [Key in keyof Checkpoint]?: Checkpoint[Key] | undefined },
): void {
  const key = streamKey(stream)
  world.checkpoints = world.checkpoints.map((each) =>
    streamKey(each.stream) === key ? ({ ...each, ...by } as Checkpoint) : each,
  )
}

/** The last hour of these routes, as samples would have made it. */
export function fillHistory(history: LagHistory, { zones, sinks, nowMs }: World): void {
  const failsSinceMs = at(13) + 51 * minuteMs
  for (let minute = 0; minute <= 60; minute++) {
    const atMs = nowMs - (60 - minute) * minuteMs
    const samples = zones.flatMap(({ id: zone }) =>
      sinks.map((sink) => {
        const isDown = zone === 101 && sink === 'siem' && atMs > failsSinceMs
        const isBehind = zone === 110 && sink === 'siem'
        const sinceMs = isDown ? failsSinceMs : isBehind ? at(-7) : atMs - 8_000
        const upTo = isDown ? 60 - (nowMs - failsSinceMs) / minuteMs : minute
        const delivered = Math.round((zone === 101 ? 3_060 : 70) * (upTo + 0.7 * Math.sin(upTo / 3 + zone)))
        return { zone, sink, lagSeconds: (atMs - sinceMs) / 1000, delivered }
      }),
    )
    history.add(atMs, samples)
  }
}
