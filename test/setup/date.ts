// Loaded before every test file, and by the programs that the tests start: another date than today's.
import { fileURLToPath } from 'node:url'

/** The instant at which each test file begins, ISO 8601. Everything that reads `Date` goes on from there. */
const wanted = process.env['SHIELDLOG_TEST_DATE'] ?? ''
/** For the programs that a test starts: the same shift as in the test. */
const inherited = process.env['SHIELDLOG_TEST_DATE_SHIFT_MS']

if (inherited !== undefined) shiftBy(Number(inherited))
else if (wanted !== '') {
  const shiftMs = Date.parse(wanted) - Date.now()
  if (!Number.isFinite(shiftMs)) throw new Error(`SHIELDLOG_TEST_DATE is "${wanted}": give a date, ISO 8601`)
  shiftBy(shiftMs)
  process.env['SHIELDLOG_TEST_DATE_SHIFT_MS'] = String(shiftMs)
  const own = `--import=${fileURLToPath(import.meta.url)}`
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} ${own}`.trim()
}

function shiftBy(shiftMs: number): void {
  const Host = Date
  const now = () => Host.now() + shiftMs
  globalThis.Date = new Proxy(Host, {
    construct: (target, args, made) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, made) as Date,
    apply: () => new Host(now()).toString(),
    get: (target, name, receiver): unknown => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  })
}
