import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Size of one of the two halves of the young generation; by default it grows from 1 MiB to 32. */
const halfMebibytes = 8
const growthPercent = 60
const mebibyte = 1_048_576
const objectsOfOneRound = 20_000
const mostRounds = 50

/**
 * Bounds the memory of the process: by default V8 lets the young generation grow to 64 MiB, and the old generation to a
 * multiple of its live objects, to save a tenth to a third of the CPU time. Of V8's flags only these can still be set
 * after the start of Node, and `node src/cli.ts` should need no flags.
 *
 * Call it before any import, and only on the V8 version that it was tested on: other versions warn about unknown flags.
 */
export function boundHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`)
  // V8 multiplies the size by this factor once, as soon as live objects exceed it; from then on it only shrinks.
  setFlagsFromString(`--semi-space-growth-factor=${halfMebibytes}`)
  for (let round = 0; round < mostRounds && youngBytes() < halfMebibytes * mebibyte; round++) outlive()
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Both halves. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? Infinity
}

/** Allocates more live objects than the young generation holds at first. */
function outlive(): number {
  return Array.from({ length: objectsOfOneRound }, (_, index) => ({ index })).length
}
