import type { RouteStatus, Status } from '../../domain/status/status.ts'
import type { Column } from '../terminal/columns.ts'
import { textWidth } from '../../domain/text/text-width.ts'
import { wrapPlain } from '../../domain/text/wrap.ts'
import type { Paint } from '../terminal/terminal.ts'
import { detailLines } from './details.ts'
import { headerLines } from './header.ts'
import { routeTable } from './route-table.ts'
import { firstLines, sentences } from './sentences.ts'

export interface StatusView {
  readonly verbose?: boolean
  /** Columns that only `--watch` can fill. */
  readonly live?: (routes: readonly RouteStatus[]) => readonly Column[]
  /** Rows of the terminal; absent where the output is no terminal. */
  readonly rows?: number | undefined
  /** Some sink leaves out events: whether it did is always shown. */
  readonly hasFilter?: boolean
}

/** Routes that a pipe gets without `--verbose`. A terminal gets those that fit, but some in any case. */
const pipedRoutes = 40
const leastRoutes = 5

/**
 * The status for people: what was lost and what stops everything first, then a row a route, then what to do. Names and
 * messages may hold any characters, so they are made printable.
 */
export function statusLines(status: Status, paint: Paint, view: StatusView = {}): string[] {
  const { width } = paint
  const { verbose = false, rows } = view
  const first = firstLines(status, paint)
  const header = headerLines(status, width)
  const told = sentences(status, verbose).flatMap((text) => hanging(text, width))
  const details = verbose ? detailLines(status, paint) : []
  // Blank line and header of the table, the line about those left out, and the prompt.
  const left = rows === undefined ? Infinity : rows - joined([first, header, told]).length - 4
  const most = verbose
    ? { routes: Infinity, lines: Infinity }
    : rows === undefined
      ? { routes: pipedRoutes, lines: Infinity }
      : { routes: Infinity, lines: Math.max(leastRoutes, left) }
  const table = routeTable(status, { ...view, most }, paint)
  return joined([first, header, table, told, details])
}

/** Only the first line begins in the first column: text of a destination must not look like a line of its own. */
function hanging(text: string, width: number): string[] {
  if (textWidth(text) <= width) return [text]
  return wrapPlain(text, width - 2).map((line, index) => (index === 0 ? line : `  ${line}`))
}

function joined(blocks: readonly (readonly string[])[]): string[] {
  return blocks
    .filter((block) => block.length > 0)
    .flatMap((block, index) => (index === 0 ? [...block] : ['', ...block]))
}
