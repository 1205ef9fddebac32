#!/usr/bin/env node
// JavaScript, and `cli.ts` links to it: Node begins to run it 45 ms sooner than a file whose types it has to strip first,
// and one older than 24 can run it at all. The version check comes before any other import, which such a Node could not
// read.
import { existsSync } from 'node:fs'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'

const isCheckout = import.meta.url.endsWith('/src/cli.js')

/** Where an older Node runs this: how Node 24 gets here, or why `npm ci` left none. */
function remedy() {
  if (!isCheckout) return 'Install it from https://nodejs.org, then run this again.'
  const has = (path = '') => existsSync(new URL(`../node_modules/${path}`, import.meta.url))
  if (has('.bin/node')) return 'npm run -s shieldlog -- COMMAND uses the one that npm ci installed.'
  if (!has()) return 'Run npm ci, which installs it for the npm scripts.'
  if (has('node'))
    return 'npm ci installed none, since scripts of packages are off: run npm rebuild node --ignore-scripts=false'
  return 'npm ci installed none, since development packages are left out: run npm ci --include=dev'
}

async function load() {
  try {
    return await import('./program/main.ts')
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    if (!isCheckout || !isMissing) throw error
    process.stderr.write(`${error.message}: run npm ci, which installs what shieldlog needs\n`)
    return process.exit(1)
  }
}

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `shieldlog needs Node 24 or later; this is Node ${process.versions.node}. ${remedy()}\n`,
  )
  process.exitCode = 1
} else {
  const argv = process.argv.slice(2)
  // Before anything is loaded, since without a listener a signal ends the process, and a stop would not exit with 0.
  // `run` reads its configuration again for a SIGHUP once it ships, and stops for that of the terminal that it was started
  // on, when that is gone; the other commands keep what a SIGHUP does by default.
  let hasHungUp = false
  const isOnTerminal = isatty(0)
  if (argv.includes('run') || argv.includes('demo'))
    process.on('SIGHUP', () => {
      if (isOnTerminal && !isatty(0)) process.emit('SIGTERM', 'SIGTERM')
      else hasHungUp = true
    })
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
  const { main } = await load()
  isLoading = false
  process.exitCode = await main(argv, { exit: (code) => process.exit(code), hasHungUp: () => hasHungUp })
  // A handle that a library left open must not keep a finished command alive. By now stdout is flushed, or its reader
  // is gone.
  process.exit()
}
