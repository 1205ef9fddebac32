#!/usr/bin/env node
// The version check comes before any import: an older Node would fail on an import with an unclear syntax error.
const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  const remedy = import.meta.url.endsWith('.ts')
    ? 'npm run -s shieldlog -- COMMAND uses the one that npm ci installs.'
    : 'Install it from https://nodejs.org, then run this again.'
  process.stderr.write(`shieldlog needs Node 24 or later; this is Node ${process.versions.node}. ${remedy}\n`)
  process.exitCode = 1
} else {
  const argv = process.argv.slice(2)
  // Before anything is loaded: without a listener a SIGHUP ends the process. `run` reads its configuration again for it
  // once it ships; the other commands keep what a signal does by default.
  let hasHungUp = false
  if (argv.includes('run') || argv.includes('demo')) process.on('SIGHUP', () => (hasHungUp = true))
  // What prints one text and ends needs little memory; bounding it takes a tenth of its time.
  const isShort = argv.length === 1 && ['--version', '--help', '-h'].includes(argv[0]!)
  const isBounded = major === 24 && !isShort
  if (isBounded) {
    const { boundHeap } = await import('./commands/process/bound-heap.ts')
    boundHeap()
  }
  const { keepCompiled } = await import('./commands/process/keep-compiled.ts')
  keepCompiled()
  // Nothing has started while the modules load, so a signal ends the process at once. The listeners stay registered:
  // removing them before `main` adds its own would let a signal in between kill the process.
  let isLoading = true
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => isLoading && process.exit(0))
  const { main } = await import('./commands/main.ts')
  isLoading = false
  if (isBounded) {
    const { giveRoomUnderLoad } = await import('./commands/process/give-room.ts')
    giveRoomUnderLoad()
  }
  process.exitCode = await main(argv, { exit: (code) => process.exit(code), hasHungUp: () => hasHungUp })
  // A handle that a library left open must not keep a finished command alive. By now stdout is flushed, or its reader
  // is gone.
  process.exit()
}
