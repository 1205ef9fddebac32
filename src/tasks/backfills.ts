import type { BackfillStatus } from '../status/fleet.ts'
import { printable, wrap } from '../domain/text/terminal-text.ts'
import { withoutSink } from '../domain/failure.ts'
import { table, type Column, type Paint } from '../terminal/text.ts'
import { secondText } from '../domain/text/time.ts'

const mostNamed = 5

/** Why queued streams make no progress: `zone 101 2026-11-18 → archive: network: …`, a line each. */
export function failingLines(errors: BackfillStatus['errors']): string[] {
  return errors.map(({ zone, day, sink, code, message }) => {
    const why = printable(withoutSink(message, sink), 500)
    return `zone ${zone} ${day} → ${printable(sink)}: ${code}: ${why}`
  })
}

const backfillColumns: readonly Column<BackfillStatus>[] = [
  ['backfill', ({ id }) => printable(id)],
  ['from', ({ from }) => from],
  ['to', ({ to }) => to],
  ['state', ({ state }) => state],
  ['read', ({ share }) => `${Math.floor(share * 100)} %`],
  ['done', ({ done }) => String(done), { spare: 1 }],
  ['queued', ({ queued }) => String(queued), { spare: 2 }],
  ['left out', ({ leftOut }) => String(leftOut)],
  ['created at', ({ createdAt }) => secondText(createdAt), { spare: 0 }],
]

/** Backfills, a row each, and why streams of them make no progress: for `backfill list` and `status --verbose`. */
export function backfillLines(backfills: readonly BackfillStatus[], paint: Paint): string[] {
  const failing = backfills.flatMap(({ errors }) => failingLines(errors.slice(0, mostNamed)))
  return [
    ...table(backfills, backfillColumns, paint),
    ...failing.flatMap((line) => wrap(line, '  ', paint.width)).map(paint.bad),
  ]
}
