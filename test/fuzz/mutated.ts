import fc from 'fast-check'

type Mutation = (bytes: Buffer) => Buffer

/** What parsers stumble over. */
const splinters = [
  ...String.raw`{ } [ ] " \ \u \ud800 , : - e999 1e400 -0 null "__proto__":{}, "logs":[],`.split(' '),
  ...'\0 \n \r \u2028 \ufeff'.split(' '),
  '${',
  '&a *a',
  '[['.repeat(5_000),
]

const place = fc.double({ min: 0, max: 1, noNaN: true })

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(place, fc.nat(255)).map(([at, byte]): Mutation => (bytes) => {
    const changed = Buffer.from(bytes)
    if (changed.length > 0) changed[Math.floor(at * (changed.length - 1))] = byte
    return changed
  }),
  fc.tuple(place, place).map(
    ([from, to]): Mutation =>
      (bytes) =>
        without(bytes, ...between(bytes, from, to)),
  ),
  fc.tuple(place, place, place).map(([from, to, at]): Mutation => (bytes) => {
    const [begin, end] = between(bytes, from, Math.min(1, from + (to - from) / 20))
    return insert(bytes, at, bytes.subarray(begin, end))
  }),
  fc.tuple(place, fc.constantFrom(...splinters)).map(
    ([at, text]): Mutation =>
      (bytes) =>
        insert(bytes, at, Buffer.from(text)),
  ),
  fc.tuple(place, fc.uint8Array({ maxLength: 8 })).map(
    ([at, some]): Mutation =>
      (bytes) =>
        insert(bytes, at, Buffer.from(some)),
  ),
)

/** A text with some of its bytes changed, taken out, doubled or put in; now and then bytes that have nothing to do with it. */
export function mutated(text: string): fc.Arbitrary<Buffer> {
  const good = Buffer.from(text)
  const near = fc
    .array(mutation, { maxLength: 5 })
    .map((mutations) => mutations.reduce<Buffer>((bytes, mutate) => mutate(bytes), good))
  const far = fc.uint8Array({ maxLength: 200 }).map((bytes): Buffer => Buffer.from(bytes))
  return fc.oneof({ weight: 9, arbitrary: near }, { weight: 1, arbitrary: far })
}

function between({ length }: Buffer, from: number, to: number): [number, number] {
  const places = [Math.floor(from * length), Math.floor(to * length)]
  return [Math.min(...places), Math.max(...places)]
}

function without(bytes: Buffer, begin: number, end: number): Buffer {
  return Buffer.concat([bytes.subarray(0, begin), bytes.subarray(end)])
}

function insert(bytes: Buffer, at: number, more: Buffer): Buffer {
  const index = Math.floor(at * bytes.length)
  return Buffer.concat([bytes.subarray(0, index), more, bytes.subarray(index)])
}

/** How many cases a property draws; `npm run test:long` asks for many times as many. */
export function runsOf(usual: number): number {
  const times = Number(process.env['SHIELDLOG_TEST_FUZZ_TIMES'] ?? 1)
  if (!(times > 0)) throw new Error('SHIELDLOG_TEST_FUZZ_TIMES takes a number above 0')
  return Math.ceil(usual * times)
}
