import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema/schema.ts'
import { iso } from '../../domain/text/iso.ts'
import { printable } from '../../domain/text/printable.ts'
import type { Output } from '../io.ts'
import { wrapped } from './wrapped.ts'

/** Prints one line. The level shows only in a JSON line. */
export type Teller = (line: string, level?: 'info' | 'error') => void

/**
 * Prints lines for people on stderr in the form of the log there, so that a pipe of it has one kind of text: beside JSON
 * lines each is a JSON line itself, with the event `Progress`, whatever `log.level` says.
 */
export function createTeller({ log: { format } }: Pick<Config, 'log'>, stderr: Output): Teller {
  const isJson = format === 'json' || (format === 'auto' && stderr.isTTY !== true)
  if (!isJson) return (line) => void stderr.write(wrapped(`${line}\n`, stderr))
  return (line, level = 'info') => {
    const fields = { level, time: iso(systemClock.now()), event: 'Progress', msg: printable(line) }
    stderr.write(`${JSON.stringify(fields)}\n`)
  }
}
