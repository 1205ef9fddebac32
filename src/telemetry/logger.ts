import { isatty } from 'node:tty'
import { pino } from 'pino'
import { printable } from '../domain/text/terminal-text.ts'
import { printableFields } from './printable.ts'
import { createLineWriter } from './stderr.ts'
import { terminalLine } from './terminal-line.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
export type LineLevel = Exclude<LogLevel, 'silent'>
export type Fields = Readonly<Record<string, unknown>>

export interface LogStream {
  write(text: string): unknown
  readonly isTTY?: boolean
  /** Of a terminal. */
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

const stderr = 2

/** Throws nothing itself; an error of `stream.write` passes through. */
export function createLogger(options: LoggerOptions): Logger {
  const terminal = options.stream === undefined ? isatty(stderr) : options.stream.isTTY === true
  const target = options.stream ?? createLineWriter(stderr)
  const isPretty = options.format === 'pretty' || (options.format === 'auto' && terminal)
  const form = {
    color: options.color ?? terminal,
    columns: () => (terminal ? columnsOf(options.stream) : undefined),
  }
  const shape = isPretty ? (line: string) => terminalLine(line, form) : (line: string) => line
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    {
      write(line: string) {
        target.write(shape(line))
      },
    },
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

/** A terminal may be resized while the process runs. */
function columnsOf(stream: LogStream | undefined): number | undefined {
  return stream === undefined ? process.stderr.columns : stream.columns
}
