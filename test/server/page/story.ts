import type { Checkpoint, Trouble } from '../../../src/domain/checkpoint.ts'
import { endOf, shiftDay, startOf, type Day } from '../../../src/domain/day.ts'
import type { MinuteCount } from '../../../src/domain/event/seen.ts'
import { streamKey, type Stream } from '../../../src/domain/stream.ts'
import type { LagHistory } from '../../../src/status/lag-history.ts'
import { at, buildCheckpoint, buildRecord, hourMs, minuteMs, policy, today } from '../../domain/builders.ts'
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

/** A day with its two busy times, and an attack. */
function minutesOf(stream: Stream, events: number, untilMs: number): MinuteCount[] {
  const first = startOf(stream.day) / minuteMs
  const weights = Array.from({ length: 1440 }, (_, minute) => {
    if ((first + minute) * minuteMs >= untilMs) return 0
    const wave = 0.35 + 0.65 * Math.max(0, Math.sin(((minute - 360) / 1440) * 2 * Math.PI)) ** 2
    const attack = minute > 782 && minute < 806 ? 3 : 0
    return (wave + attack) * (0.8 + 0.4 * Math.abs(Math.sin(minute * 7.3 + stream.zone)))
  })
  const sum = weights.reduce((total, weight) => total + weight, 0)
  let [weighed, given] = [0, 0]
  return weights.flatMap((weight, minute) => {
    weighed += weight
    // The counts of the minutes add up to the events.
    const count = Math.round((weighed / sum) * events) - given
    given += count
    return count === 0
      ? []
      : [
          {
            minute: first + minute,
            count,
            hash: BigInt.asUintN(64, BigInt(minute * 7_919 + count) * 0x9e37_79b9_7f4a_7c15n),
          },
        ]
  })
}

export const storyZones = [
  { id: 101, name: 'shop', account: 'default' },
  { id: 102, name: 'blog', account: 'default' },
  { id: 107, name: 'api', account: 'default' },
  { id: 110, name: 'docs', account: 'default' },
]

/** A fleet of four zones and two sinks with one of everything: what the pictures in the documentation show. */
export function story(): World {
  const days = Array.from({ length: 17 }, (_, back) => shiftDay(today, back - 16))
  const world = emptyWorld({ zones: [...storyZones], sinks: ['archive', 'siem'], firstDay: days[0]! })
  for (const zone of world.zones)
    for (const sink of world.sinks)
      for (const [index, day] of days.entries()) {
        const stream = { zone: zone.id, day, sink }
        const base = zone.id === 101 ? 182_440 : zone.id === 107 ? 61_020 : zone.id === 102 ? 8_204 : 930
        const events = Math.round(
          base * (day === today ? 0.62 : 0.9 + 0.2 * Math.abs(Math.sin(index * 1.7 + zone.id))),
        )
        world.checkpoints.push(readDay(stream, events))
        if (index > 9)
          world.minutes.set(streamKey(stream), minutesOf(stream, events, day === today ? at(14) : Infinity))
      }
  change(world, { zone: 101, sink: 'siem', day: today }, (checkpoint) => ({
    ...checkpoint,
    caughtUpAtMs: at(13) + 51 * minuteMs,
    newestMs: at(13) + 51 * minuteMs,
    trouble: trouble('https://splunk.example:8088 answered 503', at(13) + 51 * minuteMs),
  }))
  const gapDay = shiftDay(today, -6)
  world.gaps.push({
    zone: 101,
    sink: 'siem',
    day: gapDay,
    from: startOf(gapDay) + 20 * hourMs,
    to: endOf(gapDay),
    reason: 'unreadable',
    recordedAt: endOf(gapDay) + 48 * hourMs,
  })
  change(world, { zone: 101, sink: 'siem', day: gapDay }, (checkpoint) => ({
    ...checkpoint,
    ended: { as: 'expired', atMs: endOf(gapDay) + 48 * hourMs },
  }))
  world.deadLetters.push(
    { zone: 107, sink: 'siem', day: shiftDay(today, -3), reason: 'refused', count: 9, bytes: 11_204 },
    { zone: 107, sink: 'siem', day: shiftDay(today, -3), reason: 'too_large', count: 3, bytes: 3_400_112 },
  )
  world.refused.push({
    zone: 107,
    sink: 'siem',
    day: shiftDay(today, -3),
    id: 'e1f0',
    time: '2026-11-17T09:12:44.010Z',
    reason: 'refused',
    answer: '400 "Incorrect data format" (code 5)',
    at: at(-62),
    event:
      '{"v":1,"id":"e1f0","action":"Blocked","request":{"method":"GET","url":"https://api.example.com/<b>"}}',
  })
  const late = shiftDay(today, -9)
  change(world, { zone: 110, sink: 'archive', day: late }, (checkpoint) => ({
    ...checkpoint,
    ended: { as: 'expired', atMs: endOf(late) + 48 * hourMs },
  }))
  change(world, { zone: 101, sink: 'archive', day: today }, (checkpoint) => ({
    ...checkpoint,
    committed: [
      { writer: 'k3v9', part: '0001-k3v9.ndjson', lines: 90_112, bytes: 61_276_160 },
      { writer: 'k3v9', part: '0002-k3v9.ndjson', lines: 23_001, bytes: 15_640_680 },
    ],
  }))
  world.audits.set(streamKey({ zone: 101, sink: 'archive', day: today }), {
    atMs: at(13),
    version: '1.0.0',
    isEqual: true,
    listed: 102_400,
    ledger: 102_400,
    missing: 0,
    extra: 0,
    notYetDue: 0,
    isByCounts: false,
  })
  world.checkpoints = world.checkpoints.filter(
    ({ stream }) => !(stream.zone === 110 && stream.sink === 'siem' && stream.day < shiftDay(today, -4)),
  )
  change(world, { zone: 110, sink: 'siem', day: shiftDay(today, -1) }, (checkpoint) => {
    const { lastFull: _, ...rest } = checkpoint
    return { ...rest, caughtUpAtMs: at(-7) }
  })
  const backfilled = (zone: number, day: Day, state: 'done' | 'queued') => ({
    stream: { zone, sink: 'siem', day },
    state,
  })
  world.backfills.push({
    id: '5f0c1d2e3a',
    createdAtMs: world.nowMs - 130_000,
    from: shiftDay(today, -2),
    to: today,
    state: 'running',
    streams: [
      backfilled(102, shiftDay(today, -2), 'done'),
      backfilled(102, shiftDay(today, -1), 'queued'),
      backfilled(102, today, 'queued'),
    ],
  })
  return world
}

export function change(world: World, stream: Stream, by: (checkpoint: Checkpoint) => Checkpoint): void {
  const key = streamKey(stream)
  world.checkpoints = world.checkpoints.map((each) => (streamKey(each.stream) === key ? by(each) : each))
}

/** The last hour of these routes, as samples would have made it. */
export function fillHistory(history: LagHistory, world: World): void {
  const failsSinceMs = at(13) + 51 * minuteMs
  for (let minute = 60; minute >= 0; minute--) {
    const atMs = world.nowMs - minute * minuteMs
    history.add(
      atMs,
      world.zones.flatMap(({ id }) =>
        world.sinks.map((sink) => {
          const isDown = id === 101 && sink === 'siem' && atMs > failsSinceMs
          const isBehind = id === 110 && sink === 'siem'
          const usualLag = isBehind ? (atMs - at(-7)) / 1000 : 6 + 5 * Math.abs(Math.sin(minute + id))
          const lagSeconds = isDown ? (atMs - failsSinceMs) / 1000 : usualLag
          const perMinute = id === 101 ? 3_060 : id === 107 ? 900 : 70
          const minutes = ((isDown ? failsSinceMs : atMs) - world.nowMs) / minuteMs + 120
          const delivered = Math.round(perMinute * (minutes + 0.7 * Math.sin(minutes / 3 + id)))
          return { zone: id, sink, lagSeconds, delivered }
        }),
      ),
    )
  }
}
