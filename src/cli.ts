#!/usr/bin/env node
// Nothing is imported before the version is known: an older Node would fail on an import, with words that help nobody.
const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 24) {
  process.stderr.write(
    `shieldlog needs Node 24 or later; this is Node ${process.versions.node}. From a checkout, use: npm run -s shieldlog -- COMMAND\n`,
  )
  process.exitCode = 1
} else {
  if (major === 24) {
    const { boundHeap } = await import('./commands/process/bound-heap.ts')
    boundHeap()
  }
  const { keepCompiled } = await import('./commands/process/keep-compiled.ts')
  keepCompiled()
  // Loading takes a moment. Nothing has begun by then, so a stop is done at once. The listeners stay: a signal that came
  // while they are the only ones would be lost with them.
  let isLoading = true
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => isLoading && process.exit(0))
  const { main } = await import('./commands/main.ts')
  isLoading = false
  process.exitCode = await main(process.argv.slice(2), (code) => process.exit(code))
  // What a library left open must not keep a finished command alive; by now stdout has been written to its end, or its
  // reader was given up.
  process.exit()
}
