import { textWidth } from '../../../src/domain/text/terminal-text.ts'
import type { Cell, Style } from './screen.ts'

export interface Picture {
  readonly title: string
  /** What a person who does not see it needs to know. */
  readonly description: string
  readonly lines: readonly (readonly Cell[])[]
  readonly columns: number
}

const cell = { width: 7.8, height: 17 }
const margin = { x: 16, y: 14 }

/** Bars are drawn, since fonts leave gaps between them: the part of the cell that is filled. */
const bars: Readonly<Record<string, { readonly width?: number; readonly height?: number }>> =
  Object.fromEntries([
    ...Array.from('▏▎▍▌▋▊▉█', (bar, index) => [bar, { width: (index + 1) / 8 }]),
    ...Array.from('▁▂▃▄▅▆▇', (bar, index) => [bar, { height: (index + 1) / 8 }]),
  ])

/** A terminal as SVG with cells of fixed width, in light or dark as the reader has it. */
export function svgOf({ title, description, lines, columns }: Picture): string {
  const width = Math.round(columns * cell.width + 2 * margin.x)
  const height = lines.length * cell.height + 2 * margin.y
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description)}</desc>
<style>
svg{--back:#fbfbfa;--text:#24292f;--dim:#6e7781;--red:#b3261e;--green:#1a7f37;--yellow:#8a5a00;--edge:#d0d7de}
@media (prefers-color-scheme:dark){svg{--back:#16191d;--text:#e2e6ea;--dim:#8b949e;--red:#ff7b72;--green:#57c76b;--yellow:#e3b341;--edge:#30363d}}
.back{fill:var(--back);stroke:var(--edge)}
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.t{fill:var(--text)}.d{fill:var(--dim)}.r{fill:var(--red)}.g{fill:var(--green)}.y{fill:var(--yellow)}
</style>
<rect class="back" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
${lines.flatMap((line, row) => lineOf(line, row)).join('\n')}
</svg>
`
}

function lineOf(line: readonly Cell[], row: number): string[] {
  const top = margin.y + row * cell.height
  return runsOf(line).map(({ from, text, style, isBar }) => {
    const x = rounded(margin.x + from * cell.width)
    if (isBar) return barsOf(text, { from, top, style })
    const length = rounded(textWidth(text) * cell.width)
    // Words keep their place in whatever font there is.
    return `<text class="${classOf(style)}" x="${x}" y="${top + 13}" textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escaped(text)}</text>`
  })
}

interface Run {
  readonly from: number
  text: string
  readonly style: Style
  readonly isBar: boolean
}

/** Pieces of one style; a gap of several spaces ends one. */
function runsOf(line: readonly Cell[]): Run[] {
  const runs: Run[] = []
  let isGap = true
  line.forEach(({ text, style }, index) => {
    if (text === '') return
    const isBar = bars[text] !== undefined
    const last = runs.at(-1)
    const isSame = last !== undefined && classOf(last.style) === classOf(style) && last.isBar === isBar
    if (text === ' ' && (isGap || line[index + 1]?.text === ' ')) isGap = true
    else if (isSame && !isGap) last.text += text
    else {
      isGap = false
      runs.push({ from: index, text, style, isBar })
    }
  })
  for (const run of runs) run.text = run.text.trimEnd()
  return runs.filter(({ text }) => text !== '')
}

function barsOf(
  text: string,
  { from, top, style }: { readonly from: number; readonly top: number; readonly style: Style },
): string {
  const parts: string[] = []
  let whole = 0
  const rect = (index: number, width: number, height: number) => {
    const place = `x="${rounded(margin.x + (from + index) * cell.width)}" y="${rounded(top + 2 + (1 - height) * 13)}"`
    parts.push(
      `<rect class="${classOf(style)}" ${place} width="${rounded(width * cell.width)}" height="${rounded(height * 13)}"/>`,
    )
  }
  const characters = Array.from(text)
  characters.forEach((character, index) => {
    const { width = 1, height = 1 } = bars[character] ?? {}
    if (width === 1 && height === 1 && characters[index + 1] !== undefined) whole++
    else if (height === 1) {
      rect(index - whole, whole + width, 1)
      whole = 0
    } else rect(index, 0.9, height)
  })
  return parts.join('')
}

function classOf({ colour, isDim }: Style): string {
  if (isDim === true) return 'd'
  return colour === undefined ? 't' : colour[0]!
}

function rounded(number: number): string {
  return String(Math.round(number * 10) / 10)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
