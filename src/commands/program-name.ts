import { relative } from 'node:path'

/** The npm scripts of package.json that start the program. */
const npmScripts = ['shieldlog', 'start', 'demo']

/** The program as the user called it, for hints, examples and errors; `shieldlog` where it is installed. */
export function programName(
  script = process.argv[1] ?? '',
  npmScript = process.env['npm_lifecycle_event'] ?? '',
  folder = process.cwd(),
): string {
  if (!/[\\/]src[\\/]cli\.ts$/.test(script)) return 'shieldlog'
  if (npmScripts.includes(npmScript)) return 'npm run -s shieldlog --'
  const path = relative(folder, script)
  return `node ${path.startsWith('..') ? script : path}`
}

/** The end of a help text: one example a line, each the arguments of a call. */
export function example(...calls: readonly string[]): string {
  const title = calls.length === 1 ? 'Example' : 'Examples'
  return `\n${title}:\n${calls.map((call) => `  ${programName()} ${call}\n`).join('')}`
}
