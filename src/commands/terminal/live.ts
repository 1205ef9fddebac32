import type { Output } from '../command.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config/schema.ts'
import { iso } from '../../domain/text/time.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { wrapped } from './terminal.ts'

const usualColumns = 80

/** Lines at the end of a terminal that are redrawn in place, while other text is printed above them. */
export interface LiveBlock {
  /** No line may be wider than the terminal: the block counts a wrapped line as one. */
  draw(lines: readonly string[]): void
  /** Prints whole lines above the block. */
  write(text: string): void
}

/** A target for log lines, which are printed above the block. */
export function liveLog(block: LiveBlock, terminal: Output): Output {
  return {
    write: (text) => block.write(text),
    isTTY: true,
    get columns() {
      return terminal.columns ?? usualColumns
    },
  }
}

export function createLiveBlock(output: Output): LiveBlock {
  let drawn: readonly string[] = []

  /** A single write, so that no other output comes between erasing and drawing. */
  function replace(above: string, lines: readonly string[]): void {
    const erase = drawn.length > 0 ? `\u001B[${drawn.length}F\u001B[J` : ''
    drawn = lines
    output.write(erase + above + lines.map((line) => `${line}\n`).join(''))
  }

  return {
    draw(lines) {
      const same = lines.length === drawn.length && lines.every((line, index) => line === drawn[index])
      if (!same) replace('', lines)
    },
    write(text) {
      replace(text, drawn)
    },
  }
}

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
