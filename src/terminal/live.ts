import type { Io, Output } from './io.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { Clock } from '../ports/process.ts'
import { iso } from '../domain/text/time.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { wrapped } from './text.ts'

const usualColumns = 80
/** Between plain lines. */
const plainMs = 5_000

/** `live`: lines redrawn in place. `plain`: lines at intervals. `quiet`: only the summary. */
type ProgressMode = 'live' | 'plain' | 'quiet'
type Outputs = Pick<Io, 'stdout' | 'stderr'>

/** A terminal whose cursor moves: Emacs and some consoles have one that does not. */
export function canRedraw({ isTTY }: Output): boolean {
  return isTTY === true && process.env['TERM'] !== 'dumb'
}

/** A sink that writes to stdout may print to the same terminal, even through a pipe: nothing is redrawn then. */
export function progressMode({ sinks, log }: Config, { stdout, stderr }: Outputs): ProgressMode {
  const toStdout = sinks.some(({ type }) => type === 'stdout')
  if (toStdout) return stdout.isTTY === true ? 'quiet' : 'plain'
  return canRedraw(stderr) && log.format !== 'json' ? 'live' : 'plain'
}

/** What a command shows on stderr while it works. */
export function createDisplay(config: Config, io: Outputs, clock: Clock, redrawMs: number) {
  const mode = progressMode(config, io)
  const output = io.stderr
  const tell = createTeller(config, output)
  const beganMs = clock.monotonic()
  let block = mode === 'live' ? createLiveBlock(output) : undefined
  let printed: ReadonlyMap<string, string> = new Map()
  return {
    mode,
    /** Target of log lines while something is drawn in place; undefined where the log writes directly. */
    log: block && {
      write: (text: string) => (block ?? output).write(text),
      isTTY: true,
      get columns() {
        return output.columns ?? usualColumns
      },
    },
    /** Prints a line for people, above what is drawn. */
    say(line: string, level?: 'info' | 'error'): void {
      if (block === undefined) tell(line, level)
      else block.write(wrapped(`${line}\n`, output))
    },
    /** For a line that is drawn: one column less than the terminal, since some terminals wrap in the last one. */
    width() {
      const { columns = 0 } = output
      // Some terminals report no size.
      return Math.max(1, (columns < 2 ? usualColumns : columns) - 1)
    },
    seconds: () => (clock.monotonic() - beganMs) / 1000,
    pauseMs: mode === 'live' ? redrawMs : plainMs,
    /** Redraws in place; nothing in other modes. */
    draw: (lines: readonly string[]) => block?.draw(lines),
    /** In mode `plain`: prints these lines, by what each is about, or those that have changed. */
    print(lines: ReadonlyMap<string, string>): void {
      if (mode !== 'plain') return
      for (const [about, line] of lines) if (printed.get(about) !== line) tell(line)
      printed = new Map(lines)
    },
    /** Keeps what is drawn: lines said from now on stand below it. */
    keep: () => void (block = undefined),
  }
}

/** Lines at the end of a terminal that are redrawn in place, while other text is printed above them. */
export function createLiveBlock(output: Output) {
  let drawn: readonly string[] = []

  /** A single write, so that no other output comes between erasing and drawing. */
  function replace(above: string, lines: readonly string[]): void {
    const erase = drawn.length > 0 ? `\u001B[${drawn.length}F\u001B[J` : ''
    drawn = lines
    output.write(erase + above + lines.map((line) => `${line}\n`).join(''))
  }

  return {
    /** No line may be wider than the terminal: the block counts a wrapped line as one. */
    draw(lines: readonly string[]): void {
      const same = lines.length === drawn.length && lines.every((line, index) => line === drawn[index])
      if (!same) replace('', lines)
    },
    /** Prints whole lines above the block. */
    write: (text: string) => replace(text, drawn),
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
