#!/usr/bin/env node
// JavaScript, and `cli.ts` links to it: Node begins to run it 45 ms sooner than a file whose types it has to strip first,
// and one older than 24 can run it at all. The version check comes before any other import, which such a Node could not
// read.
import { fileURLToPath } from 'node:url'

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  const remedy = import.meta.url.endsWith('/src/cli.js')
    ? 'npm run -s shieldlog -- COMMAND uses the one that npm ci installs.'
    : 'Install it from https://nodejs.org, then run this again.'
  process.stderr.write(`shieldlog needs Node 24 or later; this is Node ${process.versions.node}. ${remedy}\n`)
  process.exitCode = 1
} else {
  const argv = process.argv.slice(2)
  // Before anything is loaded, since without a listener a signal ends the process, and a stop would not exit with 0.
  // `run` reads its configuration again for a SIGHUP once it ships; the other commands keep what that does by default.
  let hasHungUp = false
  if (argv.includes('run') || argv.includes('demo')) process.on('SIGHUP', () => (hasHungUp = true))
  // Nothing has started while the modules load, so a stop signal ends the process at once. The listeners stay registered:
  // removing them before `main` adds its own would let a signal in between kill the process.
  let isLoading = true
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => isLoading && process.exit(0))
  // Keeps the compiled modules of the program below `node_modules`: a later start from the bundle takes 50 ms less CPU
  // time, and one from the sources half of it and 20 MB less memory, since nothing strips the types. A read-only folder
  // is used too; what belongs to a changed source, another user, another Node or other flags is not. `main` writes it.
  const { enableCompileCache } = await import('node:module')
  enableCompileCache({
    directory: fileURLToPath(new URL('../node_modules/.cache/shieldlog', import.meta.url)),
  })
  const { main } = await import('./program/main.ts')
  isLoading = false
  process.exitCode = await main(argv, { exit: (code) => process.exit(code), hasHungUp: () => hasHungUp })
  // A handle that a library left open must not keep a finished command alive. By now stdout is flushed, or its reader
  // is gone.
  process.exit()
}
