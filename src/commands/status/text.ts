import type { Status } from '../../domain/status/status.ts'
import type { Column } from '../terminal/columns.ts'
import { wrapPlain } from '../../domain/text/wrap.ts'
import type { Paint } from '../terminal/terminal.ts'
import { detailLines } from './details.ts'
import { headerLines } from './header.ts'
import { routeTable } from './route-table.ts'
import { sentences, stoppedSentences } from './sentences.ts'
import { stoppedReason } from './standing.ts'

export interface StatusView {
  readonly verbose?: boolean
  /** Columns that only `--watch` can fill. */
  readonly live?: readonly Column[]
}

/**
 * The status for people: what stops everything first, then a row a route, then what to do. Names and messages may hold
 * any characters, so they are made printable.
 */
export function statusLines(status: Status, paint: Paint, view: StatusView = {}): string[] {
  const { at, routes } = status
  const { width } = paint
  const isStopped = stoppedReason(status) !== undefined
  const wrapped = (text: string) => wrapPlain(text, width)
  const stopped = stoppedSentences(status).flatMap((text, index) =>
    index === 0 ? wrapped(text).map(paint.bad) : wrapped(text),
  )
  const table = routeTable(
    { at, routes, isStopped, ...(view.live !== undefined && { live: view.live }) },
    paint,
  )
  const told = sentences(status).flatMap(wrapped)
  const details = view.verbose === true ? detailLines(status, paint) : []
  return [stopped, headerLines(status, width), table, told, details]
    .filter((block) => block.length > 0)
    .flatMap((block, index) => (index === 0 ? block : ['', ...block]))
}
