import { inspect } from 'node:util'
import { pino } from 'pino'
import { messageOf } from '../domain/failure.ts'
import { printable, wrap } from '../domain/text/terminal-text.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
export type LineLevel = Exclude<LogLevel, 'silent'>
export type Fields = Readonly<Record<string, unknown>>

export interface LogStream {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

interface LoggerOptions {
  readonly level: LogLevel
  /** `auto`: pretty on a terminal, else JSON. */
  readonly format: 'auto' | 'pretty' | 'json'
  /** For the pretty form; default: on a terminal. */
  readonly color?: boolean
  /** Receives whole lines; default: stderr. */
  readonly stream?: LogStream
}

export type Logger = ReturnType<typeof createLogger>

/** Throws nothing itself; an error of `stream.write` passes through. */
export function createLogger({ level, format, stream, color }: LoggerOptions) {
  const place = stream ?? process.stderr
  const terminal = place.isTTY === true
  const target = stream ?? writeToStderr()
  const isPretty = format === 'pretty' || (format === 'auto' && terminal)
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void target.write(line) },
  )
  return {
    /** Writes one line before it returns. Message and fields may hold text from the wire: they are escaped. */
    line(level: LineLevel, event: string, message: string, fields: Fields = {}): void {
      if (!log.isLevelEnabled(level)) return
      if (!isPretty) return log[level]({ event, ...printableFields(fields) }, '%s', printable(message))
      const line = { level, event, message: printable(message), stack: printableFields(fields)['stack'] }
      // A terminal may be resized while the process runs.
      target.write(terminalLine(line, color ?? terminal, terminal ? place.columns : undefined))
    },
    isEnabled: (level: LineLevel): boolean => log.isLevelEnabled(level),
    /** Applies from the next line on. */
    setLevel(level: LogLevel): void {
      log.level = level
    },
  }
}

/** Tries of a tenth of a second, while a reader has stopped reading. From then on each line gets one try. */
const mostTries = 10
const mostKeptBytes = 1_000_000

/**
 * Writes synchronously, so that the last lines of a dying process are not lost. Never throws: a full disk or a closed
 * pipe behind the log loses lines, but does not stop the process. What a reader that has stopped does not take is kept
 * for it, up to a limit.
 */
function writeToStderr(): LogStream {
  let triesLeft = mostTries
  const stderr = pino.destination({
    dest: 2,
    sync: true,
    maxLength: mostKeptBytes,
    retryEAGAIN: () => triesLeft-- > 0,
  })
  stderr.on('write', (bytes) => {
    if (bytes > 0) triesLeft = mostTries
  })
  stderr.on('error', () => undefined)
  return stderr
}

interface Line {
  readonly level: LineLevel
  readonly event: string
  readonly message: string
  /** Of a bug. */
  readonly stack: unknown
}

const narrowest = 40
const codes: Readonly<Record<string, number>> = { warn: 33, error: 31, fatal: 31, info: 32 }
/** Lines of these levels name their event, under which the documentation has the remedy. */
const named = new Set(['warn', 'error', 'fatal'])

/** For people: time, level and text, wrapped at words. Some terminals report no size: 0 columns. */
function terminalLine({ level, event, message, stack }: Line, isColored: boolean, columns = 0): string {
  // As pino writes it in the other form: `,"time":"2026-11-20T14:03:11.123Z"`.
  const time = `${pino.stdTimeFunctions.isoTime().slice(9, 28)}Z`
  const name = level.toUpperCase().padEnd(5)
  const text = `${time} ${name} ${message}${named.has(level) ? `  event=${event}` : ''}`
  const lines = columns === 0 ? [text] : wrap(text, '', Math.max(narrowest, columns))
  if (Array.isArray(stack)) lines.push(...stack.map((line) => `  ${String(line)}`))
  const code = isColored ? codes[level] : undefined
  // Only the level is painted: it is what an eye looks for.
  const painted = code === undefined ? name : `\u001B[${code}m${name}\u001B[0m`
  return `${lines.join('\n').replace(name, painted)}\n`
}

const longestField = 1000
const mostItems = 20
/** Of numbers, such as zones, none is left out that somebody may look for. */
const mostNumbers = 1000

/** Makes a log field safe to print, and cuts what is too long. An instance of a class shows itself: a Secret hides its value. */
export function printableField(value: unknown): unknown {
  if (typeof value === 'string') return printable(value, longestField)
  if (value === null || value === undefined || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (Array.isArray(value)) {
    const most = value.every((item) => typeof item === 'number') ? mostNumbers : mostItems
    const items = value.slice(0, most).map((item) => (Array.isArray(item) ? '…' : printableField(item)))
    return value.length > most ? [...items, `… ${value.length - most} more`] : items
  }
  if (value instanceof Error) return printable(messageOf(value), longestField)
  return printable(inspect(value, { breakLength: Infinity }), longestField)
}

function printableFields(fields: Fields): Record<string, unknown> {
  const safe: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) safe[printable(name, 100)] = printableField(value)
  return safe
}
