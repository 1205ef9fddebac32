import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'

/** The npm scripts of package.json that start the program. */
const npmScripts = ['shieldlog', 'start', 'demo']

/** The program as the user called it, for hints, examples and errors; `shieldlog` where that name is on PATH. */
export function programName({
  script = process.argv[1] ?? '',
  npmScript = process.env['npm_lifecycle_event'] ?? '',
  folder = process.cwd(),
  path = process.env['PATH'] ?? '',
} = {}): string {
  if (!/[\\/]src[\\/]cli\.ts$/.test(script)) return 'shieldlog'
  if (npmScripts.includes(npmScript)) return 'npm run -s shieldlog --'
  // In the image, whose entry point names this file, users call it as `shieldlog`.
  if (isOnPath(script, path)) return 'shieldlog'
  const short = relative(folder, script)
  return `node ${short.startsWith('..') ? script : short}`
}

/** Whether `shieldlog` in one of the folders is a link to the script. */
function isOnPath(script: string, path: string): boolean {
  const links = path.split(delimiter).map((folder) => join(folder, 'shieldlog'))
  return links.some((link) => existsSync(link) && realpathSync(link) === realpathSync(script))
}

/** A command for the user to type, with the configuration file of this call: `shieldlog dead-letters list -c sim.yaml`. */
export function commandLine(command: string, file = configFileOf(process.argv)): string {
  return `${programName()} ${command}${file === undefined ? '' : ` -c ${quoted(file)}`}`
}

function configFileOf(argv: readonly string[]): string | undefined {
  const at = argv.findIndex((each) => each === '-c' || each === '--config')
  if (at !== -1) return argv[at + 1]
  return argv.find((each) => each.startsWith('--config='))?.slice('--config='.length)
}

/** For a shell. */
export function quoted(value: string): string {
  return /^[\w./:@%+=,-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`
}

/** The end of a help text: one example a line, each the arguments of a call. */
export function example(...calls: readonly string[]): string {
  const title = calls.length === 1 ? 'Example' : 'Examples'
  return `\n${title}:\n${calls.map((call) => `  ${programName()} ${call}\n`).join('')}`
}
