import { wrap } from '../domain/text/terminal-text.ts'

export interface TerminalForm {
  readonly color: boolean
  /** Columns of the terminal; undefined where lines are not wrapped. */
  readonly columns: () => number | undefined
}

interface Line {
  readonly level: string
  readonly time: string
  readonly msg: string
}

const narrowest = 40
const codes: Readonly<Record<string, number>> = { warn: 33, error: 31, fatal: 31, info: 32 }

/** What the text of a line says in words (`next try in 30 s`, `57 times`, `over`), or what only programs need. */
const inWords = new Set(['phase', 'kind', 'priority', 'count', 'retryAt', 'until', 'offsetSeconds'])
/** Lines of these levels name their event, under which the documentation has the remedy. */
const named = new Set(['warn', 'error', 'fatal'])

/**
 * A JSON line of the log for people: time, level, text, and as `name=value` the fields that the text does not say. Long
 * lines are wrapped at words.
 */
export function terminalLine(json: string, { color, columns }: TerminalForm): string {
  const { level, time, msg, event, ...rest } = JSON.parse(json) as Line & Record<string, unknown>
  const fields = named.has(level) ? { ...rest, event } : rest
  const began = `${time.slice(0, 19)}Z ${level.toUpperCase().padEnd(5)}`
  // Some terminals report no size: 0 columns.
  const width = columns() ?? 0
  const text = [`${began} ${msg}`, ...unsaid(fields, msg)].join('  ')
  const lines = width === 0 ? [text] : wrap(text, '', Math.max(narrowest, width))
  return `${painted(lines.join('\n'), began, color ? codes[level] : undefined)}\n`
}

function unsaid(fields: Readonly<Record<string, unknown>>, text: string): string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    inWords.has(name) || says(text, value) ? [] : [`${name}=${valueText(value)}`],
  )
}

/** True for a value that stands in the text as a word, for a list of which every item does, and for an empty value. */
function says(text: string, value: unknown): boolean {
  if (value === null || value === '') return true
  if (Array.isArray(value)) return value.every((item) => says(text, item))
  if (typeof value !== 'string' && typeof value !== 'number') return false
  const word = String(value)
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1))
    if (!isPartOfWord(text[at - 1]) && !isPartOfWord(text[at + word.length])) return true
  return false
}

function isPartOfWord(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character)
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=,]+$/.test(value)) return value
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return value.map(valueText).join(',')
  return JSON.stringify(value)
}

/** Paints the level only: it is what an eye looks for. */
function painted(line: string, began: string, code: number | undefined): string {
  if (code === undefined || !line.startsWith(began)) return line
  const [time, level] = [began.slice(0, 21), began.slice(21)]
  return `${time}\u001B[${code}m${level}\u001B[0m${line.slice(began.length)}`
}
