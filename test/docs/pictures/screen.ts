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
