import { setFlagsFromString } from 'node:v8'

/** By how much the old generation may outgrow its live objects. */
const growthPercent = 60

/**
 * Bounds the memory of the process. By default V8 lets the young generation grow to 64 MiB, and the old generation to a
 * multiple of its live objects, to save a tenth to a third of the CPU time; and it compiles undici's parser of HTTP
 * headers, which is WebAssembly, a second time: that saves microseconds a request, and takes 25 MB, of which the
 * allocator never gives back 9. Of V8's flags only some can still be set after the start of Node, and
 * `node src/cli.ts` should need no flags.
 *
 * Call it before any import, and only on the V8 version that it was tested on: other versions warn about unknown flags.
 */
export function boundHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`)
  // A start fills it with what stays. An idle process needs no more, and one under load gets it: see `giveRoomUnderLoad`.
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-wasm-tier-up')
  setFlagsFromString('--no-wasm-dynamic-tiering')
}
