// Loaded before every test file, and by the Node programs that tests start: which date it is.
import { ServerResponse, type OutgoingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/**
 * Suites ask for today when they begin, some need minutes, and some have an API whose clock is a minute behind: none
 * begins so shortly before or after midnight UTC, since the real Redis and the processes in some of them cannot be told
 * another date. At other times nothing waits here.
 */
const aroundMidnightMs = { before: 180_000, after: 120_000 }
const dayMs = 86_400_000

/** The date at which this worker begins instead of today, ISO 8601; `Date` goes on from there. */
const wanted = process.env['SHIELDLOG_TEST_DATE'] ?? ''
/** The same for those that come after: other files in this worker, and the programs that they start. */
const shift = process.env['SHIELDLOG_TEST_DATE_SHIFT_MS']

if (shift !== undefined) shiftBy(Number(shift))
else if (wanted !== '') {
  const shiftMs = Date.parse(wanted) - Date.now()
  if (!Number.isFinite(shiftMs)) throw new Error(`SHIELDLOG_TEST_DATE is "${wanted}": give a date, ISO 8601`)
  shiftBy(shiftMs)
  process.env['SHIELDLOG_TEST_DATE_SHIFT_MS'] = String(shiftMs)
  const preload = `--import=${fileURLToPath(import.meta.url)}`
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} ${preload}`.trim()
} else {
  const { before, after } = aroundMidnightMs
  const sinceMs = (Date.now() + before) % dayMs
  if (sinceMs < before + after) await sleep(before + after - sinceMs)
}

function shiftBy(shiftMs: number): void {
  const mark = Symbol.for('shieldlog: this Date is shifted')
  if (Reflect.has(Date, mark)) return
  const Host = Date
  const now = () => Host.now() + shiftMs
  globalThis.Date = new Proxy(Host, {
    construct: (target, args, made) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, made) as Date,
    apply: () => new Host(now()).toString(),
    get: (target, name, receiver): unknown => (name === 'now' ? now : Reflect.get(target, name, receiver)),
    has: (target, name) => name === mark || Reflect.has(target, name),
  })
  sendDates()
}

/** Node's HTTP servers send this host's date. */
function sendDates(): void {
  const { writeHead } = ServerResponse.prototype
  ServerResponse.prototype.writeHead = function (...given: unknown[]) {
    if (this.sendDate && !this.hasHeader('date')) this.setHeader('Date', new Date().toUTCString())
    return writeHead.apply(this, given as [number, OutgoingHttpHeaders])
  }
}
