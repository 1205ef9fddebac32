// `npm run docs:pictures`: runs the program against the simulator, and draws what a terminal then shows.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { dayOf, shiftDay } from '../../../src/domain/day.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { screenOf, type Cell } from './screen.ts'
import { scenes, type Scene } from './scenes.ts'
import { svgOf } from './svg.ts'

const shownToday = dayOf(Date.parse('2026-11-20T14:03:00.000Z'))
const chosen = process.argv.slice(2)
mkdirSync(join(projectFolder, 'docs', 'pictures'), { recursive: true })
for (const scene of scenes) {
  if (chosen.length > 0 && !chosen.includes(scene.name)) continue
  const folder = mkdtempSync(join(tmpdir(), 'sl-pic-'))
  try {
    const lines = screenOf(withoutPlace(await scene.record(folder), folder))
    const svg = svgOf({ ...scene, lines: [prompt(scene), ...wrapped(lines, scene.columns)] })
    writeFileSync(join(projectFolder, 'docs', 'pictures', `${scene.name}.svg`), svg)
    process.stderr.write(`docs/pictures/${scene.name}.svg: ${lines.length} lines, ${svg.length} bytes\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
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

/**
 * Without what the terminal itself shows of Ctrl-C, and without paths, names, ports and times of the machine that ran it.
 * The folder of a scene in /tmp is as long as the one that is shown, so that columns stay.
 */
function withoutPlace(output: string, folder: string): string {
  const today = dayOf(Date.now())
  const days = [-2, -1, 0].map((back): [string, string] => [
    shiftDay(today, back),
    shiftDay(shownToday, back),
  ])
  const replaced: readonly (readonly [string | RegExp, string])[] = [
    [/\^C(?:\r?\n)?/g, ''],
    [new RegExp(`${literally(folder)}/shieldlog-demo-\\w+`, 'g'), '/tmp/shieldlog-demo'],
    [folder, '/var/lib/shieldlog'],
    [/127\.0\.0\.1:(?!9\b)\d+/g, '127.0.0.1:9871'],
    [/127\.0\.0\.1:9\b/g, '127.0.0.1:8088'],
    [/\b\d\d:\d\d UTC/g, '14:03 UTC'],
    [/next try \d\d:\d\d/g, 'next try 14:04'],
    [/since \d\d:\d\d/g, 'since 14:01'],
    ...days,
  ]
  const process = new RegExp(`(process \\d+ on ${literally(hostname())})(.*?)( {2,})`, 'g')
  return replaced
    .reduce((text, [found, by]) => text.replaceAll(found, by), output)
    .replaceAll(process, (_, own: string, rest: string, gap: string) => {
      const shown = 'process 812 on siem-1'
      return shown + rest + ' '.repeat(Math.max(1, gap.length + own.length - shown.length))
    })
}

/** A pattern of exactly this text. */
function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
