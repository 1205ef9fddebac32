// `npm run docs:pictures`: runs the program against the simulator, and draws what a terminal then shows.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { dayOf, shiftDay } from '../../../src/domain/day.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { replaceOn, screenOf, type Cell } from './screen.ts'
import { scenes, type Scene } from './scenes.ts'
import { svgOf } from './svg.ts'

const shownToday = dayOf(Date.parse('2026-11-20T14:03:00.000Z'))
const chosen = process.argv.slice(2)
mkdirSync(join(projectFolder, 'docs', 'pictures'), { recursive: true })
for (const scene of scenes) {
  if (chosen.length > 0 && !chosen.includes(scene.name)) continue
  const folder = mkdtempSync(join(tmpdir(), 'sl-pic-'))
  try {
    const lines = withoutPlace(screenOf(keptOutput(await scene.record(folder))), folder)
    const svg = svgOf({ ...scene, lines: [prompt(scene), ...wrapped(lines, scene.columns)] })
    writeFileSync(join(projectFolder, 'docs', 'pictures', `${scene.name}.svg`), svg)
    process.stderr.write(`docs/pictures/${scene.name}.svg: ${lines.length} lines, ${svg.length} bytes\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Without what the terminal itself shows of Ctrl-C. */
function keptOutput(output: string): string {
  return output.replace(/\^C(?:\r?\n)?/g, '')
}

/** As a terminal wraps lines that are too long for it. */
function wrapped(lines: readonly Cell[][], columns: number): Cell[][] {
  return lines.flatMap((line) => {
    const rows = [line.slice(0, columns)]
    for (let from = columns; from < line.length; from += columns) rows.push(line.slice(from, from + columns))
    return rows
  })
}

function prompt({ command }: Scene): Cell[] {
  return Array.from(`$ ${command}`, (text, index) => ({ text, style: { isDim: index === 0 } }))
}

/** Without paths, names, ports and times of the machine that ran it. */
function withoutPlace(lines: readonly Cell[][], folder: string): Cell[][] {
  const today = dayOf(Date.now())
  const days = new Map<string, string>(
    [-2, -1, 0].map((back) => [shiftDay(today, back), shiftDay(shownToday, back)]),
  )
  const replaced: (readonly [RegExp, string])[] = [
    [new RegExp(`${literally(folder)}/shieldlog-demo-\\w+`), '/tmp/shieldlog-demo'],
    [new RegExp(literally(folder)), '/var/lib/shieldlog'],
    [new RegExp(`process \\d+ on ${literally(hostname())}`), 'process 812 on siem-1'],
    [/127\.0\.0\.1:(?!9\b)\d+/, '127.0.0.1:9871'],
    [/127\.0\.0\.1:9\b/, '127.0.0.1:8088'],
    [/\b\d\d:\d\d UTC/, '14:03 UTC'],
    [/next try \d\d:\d\d/, 'next try 14:04'],
    [/since \d\d:\d\d/, 'since 14:01'],
  ]
  const dated = replaceOn(lines, /\d{4}-\d\d-\d\d/, (day) => days.get(day) ?? day)
  return replaced.reduce((screen, [pattern, by]) => replaceOn(screen, pattern, () => by), dated)
}

/** A pattern of exactly this text. */
function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
