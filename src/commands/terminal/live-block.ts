import type { Output } from '../io.ts'

/** Lines at the end of a terminal that are drawn anew in place, while other text goes on above them. */
export interface LiveBlock {
  /** No line may be wider than the terminal: a wrapped one would be counted wrongly. */
  draw(lines: readonly string[]): void
  /** Writes whole lines above the block. */
  write(text: string): void
}

export function createLiveBlock(output: Output): LiveBlock {
  let drawn: readonly string[] = []

  /** One write, so that nothing of another writer comes between erasing and drawing. */
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
