import type { Output } from '../io.ts'
import { wrap } from '../../domain/text/wrap.ts'
import { paintFor } from './terminal.ts'

/** The text, wrapped at words on a terminal; unchanged elsewhere, so that scripts find an error on one line. */
export function wrapped(message: string, output: Output): string {
  if (output.isTTY !== true) return message
  const { width } = paintFor(output)
  const lines = message
    .split('\n')
    .flatMap((line) => wrap(line.trimStart(), /^ */.exec(line)?.[0] ?? '', width))
  return lines.join('\n')
}
