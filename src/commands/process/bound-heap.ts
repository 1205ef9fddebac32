import { setFlagsFromString } from 'node:v8'

/**
 * What nearly every command uses of Node. V8 takes Node's own compiled code of a module only until the first flag is
 * set: 30 ms of a start. With more modules than these the young generation would grow before its size is fixed.
 */
const loadedBefore = ['net', 'http', 'crypto', 'tls', 'assert']
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
  for (const name of loadedBefore) process.getBuiltinModule(name)
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`)
  // The young generation keeps its first size, which is enough for an idle process; `giveRoomUnderLoad` lets it grow.
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-wasm-tier-up')
  setFlagsFromString('--no-wasm-dynamic-tiering')
}
