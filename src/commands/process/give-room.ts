import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Size of both halves of the young generation under load. They begin with 2 MiB at most. */
const roomBytes = 16 * 1_048_576
/** More collections than this within the window are a load: a start takes about 20, an idle zone one. */
const mostCollections = 40
const windowMs = 10_000
const objectsOfOneRound = 20_000
const mostRounds = 50

/**
 * Lets the young generation grow to 16 MiB, and no further, whenever V8 collects it often: that saves a third of the CPU
 * time of a load, and an idle process never takes the memory. It is watched for good, since V8 makes it small again when
 * little is allocated, and the flag of `boundHeap` keeps it so.
 */
export function giveRoomUnderLoad(): void {
  let windowBegan = 0
  let collections = 0
  const observer = new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) {
      if (startTime - windowBegan >= windowMs) {
        windowBegan = startTime
        collections = 0
      }
      collections += 1
    }
    if (collections <= mostCollections) return
    collections = 0
    growYoungGeneration()
  })
  observer.observe({ entryTypes: ['gc'] })
}

function growYoungGeneration(): void {
  for (let round = 0; round < mostRounds && youngBytes() * 2 <= roomBytes; round++) {
    // V8 multiplies the size by this factor once, as soon as more objects survive than a half holds.
    setFlagsFromString(`--semi-space-growth-factor=${Math.floor(roomBytes / youngBytes())}`)
    outlive()
  }
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
