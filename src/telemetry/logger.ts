import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { inspect } from 'node:util'
import { pino } from 'pino'
import { messageOf } from '../domain/failure.ts'
import { systemCode } from '../domain/text/system-error.ts'
import { printable, wrap } from '../domain/text/terminal-text.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
export type LineLevel = Exclude<LogLevel, 'silent'>
export type Fields = Readonly<Record<string, unknown>>

export interface LogStream {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface LoggerOptions {
  readonly level: LogLevel
  /** `auto`: pretty on a terminal, else JSON. */
  readonly format: 'auto' | 'pretty' | 'json'
  /** For the pretty form; default: on a terminal. */
  readonly color?: boolean
  /** Receives whole lines; default: stderr. */
  readonly stream?: LogStream
}

export interface Logger {
  /** Writes one line before it returns. Message and fields may hold text from the wire: the logger escapes them. */
  line(level: LineLevel, event: string, message: string, fields?: Fields): void
  isEnabled(level: LineLevel): boolean
  /** Applies from the next line on. */
  setLevel(level: LogLevel): void
}

/** Throws nothing itself; an error of `stream.write` passes through. */
export function createLogger({ level, format, stream, color }: LoggerOptions): Logger {
  const terminal = stream === undefined ? isatty(stderr) : stream.isTTY === true
  const target = stream ?? createLineWriter(stderr)
  // A terminal may be resized while the process runs.
  const columns = () => (stream === undefined ? process.stderr.columns : stream.columns)
  const form = { color: color ?? terminal, columns: () => (terminal ? columns() : undefined) }
  const isPretty = format === 'pretty' || (format === 'auto' && terminal)
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void target.write(isPretty ? terminalLine(line, form) : line) },
  )
  return {
    line(level, event, message, fields = {}) {
      if (!log.isLevelEnabled(level)) return
      log[level]({ event, ...printableFields(fields) }, '%s', printable(message))
    },
    isEnabled: (level) => log.isLevelEnabled(level),
    setLevel(level) {
      log.level = level
    },
  }
}

const stderr = 2

/** How long one line may wait for a reader that has stopped reading before the line is dropped. */
const patienceMs = 1000
const pauseMs = 10

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/**
 * Writes to a descriptor synchronously, so that the last lines of a dying process are not lost. Never throws: a full
 * disk or a closed pipe behind the log loses lines, but does not stop the process. A reader that has stopped reading
 * delays the first line by `patienceMs`; until it reads again, each further line gets one try. (On a blocking
 * descriptor the kernel itself waits for the reader without a limit.)
 */
function createLineWriter(descriptor: number): LogStream {
  let stalled = false
  let torn = false

  /** Returns false when the rest could not be written. */
  function writeAll(bytes: Uint8Array): boolean {
    let written = 0
    for (let patience = stalled ? 0 : patienceMs / pauseMs; written < bytes.length;) {
      try {
        written += writeSync(descriptor, bytes, written)
        stalled = false
      } catch (error) {
        const isFull = systemCode(error) === 'EAGAIN'
        if (!isFull || patience-- <= 0) {
          stalled = isFull
          torn ||= written > 0
          return false
        }
        Atomics.wait(sleeper, 0, 0, pauseMs)
      }
    }
    return true
  }

  return {
    write(text) {
      const whole = writeAll(Buffer.from(torn ? `\n${text}` : text))
      if (whole) torn = false
    },
  }
}

interface TerminalForm {
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

/** For people: time, level, text, and as `name=value` the fields that the text does not say, wrapped at words. */
function terminalLine(json: string, { color, columns }: TerminalForm): string {
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

const longestField = 1000
const mostItems = 20
const deepest = 4

/** Makes every string inside a log field safe to print. Cuts what is too long or too deep. */
export function printableField(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return printable(value, longestField)
  if (value === null || value === undefined || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value !== 'object') return printable(inspect(value), longestField)
  if (depth >= deepest) return '…'
  if (Array.isArray(value)) {
    const items = value.slice(0, mostItems).map((item) => printableField(item, depth + 1))
    return value.length > mostItems ? [...items, `… ${value.length - mostItems} more`] : items
  }
  if (value instanceof Error) return printable(messageOf(value), longestField)
  const prototype: unknown = Object.getPrototypeOf(value)
  // An instance of a class defines its own display: a Secret hides its value.
  if (prototype !== Object.prototype && prototype !== null)
    return printable(inspect(value, { depth: 1, breakLength: Infinity }), longestField)
  return printableFields(value, depth + 1)
}

function printableFields(fields: object, depth = 0): Record<string, unknown> {
  const safe: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields))
    safe[printable(name, 100)] = printableField(value, depth)
  return safe
}
