import { textWidth } from '../../../src/domain/text/terminal-text.ts'

/** How a cell is shown: `green`, `red`, `yellow` and `dim` are what the program uses. */
export interface Style {
  readonly colour?: 'red' | 'green' | 'yellow'
  readonly isDim?: boolean
}

export interface Cell {
  readonly text: string
  readonly style: Style
}

/** Each sequence, and each character in between. */
const token = new RegExp(String.raw`\u001B\[([\d;?]*)([A-Za-z])|\r\n|[\s\S]`, 'gu')
const colours: Readonly<Record<string, Style['colour']>> = { '31': 'red', '32': 'green', '33': 'yellow' }

/**
 * The lines that a terminal shows after this output: SGR colours, cursor to an earlier line and erasing to the end,
 * which is all that the program writes. Throws for any other sequence, so that none is drawn wrong.
 */
export function screenOf(output: string): Cell[][] {
  const lines: Cell[][] = [[]]
  let [row, style]: [number, Style] = [0, {}]
  for (const [found, numbers = '', kind] of output.matchAll(token)) {
    if (kind === 'm') style = styled(style, numbers)
    else if (kind === 'F') row -= Number(numbers)
    else if (kind === 'J') lines.splice(row, Infinity, [])
    else if (kind === 'h' || kind === 'l') continue
    else if (kind !== undefined) throw new Error(`the screen does not know ${JSON.stringify(found)}`)
    else if (found === '\n' || found === '\r\n') lines[++row] ??= []
    else if (found === '\r') lines[row] = []
    else write(lines[row]!, found, style)
  }
  while (lines.at(-1)?.length === 0) lines.pop()
  return lines
}

function write(line: Cell[], text: string, style: Style): void {
  line.push({ text, style })
  // The second column of a wide character.
  if (textWidth(text) === 2) line.push({ text: '', style })
}

function styled(style: Style, numbers: string): Style {
  let next = style
  for (const number of numbers.split(';')) {
    if (number === '' || number === '0') next = {}
    else if (number === '2') next = { ...next, isDim: true }
    else if (colours[number] !== undefined) next = { ...next, colour: colours[number] }
    else if (number === '39' || number === '22') next = {}
    else throw new Error(`the screen does not know the colour ${number}`)
  }
  return next
}

/** Replaces what a pattern matches in each line. The next gap of spaces takes up the difference, so that columns stay. */
export function replaceOn(
  lines: readonly Cell[][],
  pattern: RegExp,
  by: (found: string) => string,
): Cell[][] {
  return lines.map((line) => {
    const text = line.map((cell) => cell.text || '\u0000').join('')
    const cells = [...line]
    const found = [...text.matchAll(new RegExp(pattern.source, 'gu'))].reverse()
    for (const match of found) {
      const style = line[match.index]?.style ?? {}
      const replaced = Array.from(by(match[0]), (character) => ({ text: character, style }))
      fillGap(cells, match.index + match[0].length, match[0].length - replaced.length)
      cells.splice(match.index, match[0].length, ...replaced)
    }
    return cells
  })
}

/** Makes the first gap of spaces after a place wider, or narrower. */
function fillGap(cells: Cell[], from: number, by: number): void {
  const isSpace = (at: number) => cells[at]?.text === ' '
  const gap = cells.findIndex((_, at) => at >= from && isSpace(at) && isSpace(at + 1))
  if (gap === -1) return
  let end = gap
  while (isSpace(end)) end++
  const width = Math.max(1, end - gap + by)
  const { style } = cells[gap]!
  cells.splice(gap, end - gap, ...Array.from({ length: width }, () => ({ text: ' ', style })))
}
