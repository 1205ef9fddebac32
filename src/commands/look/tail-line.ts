import type { Event } from '../../domain/event/event.ts'
import { printable } from '../../domain/text/printable.ts'
import { cut, pad, textWidth } from '../../domain/text/text-width.ts'
import type { Paint } from '../terminal/terminal.ts'

const absent = '-'
/** Widths of the columns; what is left of a terminal's line is for the path. */
const widths = { action: 10, rule: 8, method: 4, address: 15 }
/** Country and network, or the country alone on a narrow terminal. */
const fromWidth = { wide: 10, narrow: 2, narrowBelow: 100 }
const narrowestPath = 8
/** Of a path that is printed to a pipe. */
const pipedPath = 40

/**
 * Formats an event as one line that fits the width, and is whole in a pipe; with `zoned`, the name of the zone is
 * first.
 */
export function tailLine(event: Event, paint: Paint, isPiped: boolean, zoned = 0): string {
  const { time = '', action = absent, rule, request, client, zone } = event
  const column = (text: string, width: number) =>
    pad(isPiped ? printable(text) : cut(printable(text), width), width)
  const zoneColumn = zoned === 0 ? '' : `${column(zone.name, zoned)}  `
  const left = `${time.slice(11, 19).padEnd(8)}  ${zoneColumn}`
  const middle = `  ${column(rule?.id ?? absent, widths.rule)}  ${column(request?.method ?? absent, widths.method)} `
  const isNarrow = !isPiped && paint.width < fromWidth.narrowBelow
  const network = client?.asn === undefined || isNarrow ? undefined : `AS${client.asn}`
  const from = [client?.country, network]
  const right = `${column(client?.address ?? absent, widths.address)}  ${printable(from.filter(Boolean).join(' '))}`
  const fixed =
    textWidth(left) +
    widths.action +
    textWidth(middle) +
    widths.address +
    fromWidth[isNarrow ? 'narrow' : 'wide'] +
    5
  const room = isPiped ? pipedPath : Math.max(narrowestPath, paint.width - fixed)
  const path = pathOf(request?.url ?? absent)
  const plain = `${middle}${column(path, room)}  ${right}`
  const rest = isPiped ? plain.trimEnd() : cut(plain, paint.width - textWidth(left) - widths.action)
  return `${left}${colourOf(action, paint)(column(action, widths.action))}${rest}`
}

/** The name of each action as well as its colour says what happened. */
function colourOf(action: string, paint: Paint): (text: string) => string {
  if (action === 'Blocked') return paint.bad
  if (action === 'Logged') return paint.dim
  if (action === 'Allowed') return paint.good
  return paint.warn
}

/** Path and query of a URL; any other text as it is. */
function pathOf(url: string): string {
  const [, path = ''] = /^[a-z]+:\/\/[^/?#]*(.*)$/is.exec(url) ?? []
  return path === '' ? url : path
}
