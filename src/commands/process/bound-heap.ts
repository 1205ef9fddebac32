import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** One of the two halves of the young generation; it begins with 1 MiB and would grow to 32. */
const halfMebibytes = 8
const growthPercent = 60
const mebibyte = 1_048_576
const objectsOfOneRound = 20_000
const mostRounds = 50

/**
 * Keeps the process small: V8 lets the young generation grow to 64 MiB and the old one to a multiple of what lives in
 * it, for a tenth to a third less CPU time. Of the flags that bound it only these can be set once Node runs, and
 * `node src/cli.ts` is to need none.
 *
 * To be called before anything is imported, and on the version of V8 that it was tried on: elsewhere V8 complains of
 * flags that it does not know.
 */
export function boundHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`)
  // It grows by this factor as soon as more lives than it holds, so once; from then on it only shrinks.
  setFlagsFromString(`--semi-space-growth-factor=${halfMebibytes}`)
  for (let round = 0; round < mostRounds && youngBytes() < halfMebibytes * mebibyte; round++) outlive()
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Both halves. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? Infinity
}

/** Makes more objects that live for a while than the young generation holds at first. */
function outlive(): number {
  return Array.from({ length: objectsOfOneRound }, (_, index) => ({ index })).length
}
