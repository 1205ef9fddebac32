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
    const { boundHeap } = await import('./commands/bound-heap.ts')
    boundHeap()
  }
  const { keepCompiled } = await import('./commands/keep-compiled.ts')
  keepCompiled()
  const { main } = await import('./commands/main.ts')
  process.exitCode = await main(process.argv.slice(2), (code) => process.exit(code))
  // What a library left open must not keep a finished command alive; by now stdout has been written to its end, or its
  // reader was given up.
  process.exit()
}
