import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Day } from '../../../src/domain/day.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import type { OpenStream, Sink } from '../../../src/ports/delivery.ts'
import { createStdoutSink } from '../../../src/sinks/stdout/sink.ts'
import { buildEvent, buildEvents } from '../../formats/events.ts'

const never = new AbortController().signal
const format = createNativeFormat()
const children: ChildProcessByStdio<Writable, Readable, null>[] = []

/** A real pipe into a real process. */
function reader(command: string, ...args: string[]): ChildProcessByStdio<Writable, Readable, null> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
})

function open(output: Writable) {
  return createStdoutSink({ name: 'out' }, { format, output, clock: systemClock })
}

function stream(sink: Sink, zone = 101): Promise<OpenStream> {
  return sink.open({ zone, day: '2026-11-20' as Day, sink: 'out' }, {}, never)
}

async function read(from: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of from as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

describe('the stdout sink', () => {
  it.each([true, false])('escapes control characters if it writes to a terminal (%s)', async (isTTY) => {
    const output = Object.assign(new PassThrough(), { isTTY })
    const text = read(output)
    const pop = 'a\u009b2Jb\u202ec\u{e0041}\u001b'
    const sink = open(output)
    await (await stream(sink)).deliver([buildEvent({ pop })], never)
    output.end()
    const line = await text
    expect(/[^\P{C}\n]/u.test(line)).toBe(!isTTY)
    expect(JSON.parse(line)).toMatchObject({ pop })
  })

  it('acknowledges only what the operating system has accepted', async () => {
    const stalled = reader('sleep', '60')
    const sink = open(stalled.stdin)
    const opened = await stream(sink)
    await opened.deliver(buildEvents(1), never)
    let done = false
    const large = opened
      .deliver([buildEvent({ pop: 'x'.repeat(1_000_000) })], never)
      .finally(() => (done = true))
    await expect.poll(() => stalled.stdin.writableLength).toBeGreaterThan(0)
    expect(done).toBe(false)
    stalled.kill('SIGKILL')
    await expect(large).rejects.toMatchObject({ kind: 'stop', code: 'sink_gone' })
  })

  it('aborts at once if the reader stops reading, and accumulates nothing', async () => {
    const stalled = reader('sleep', '60')
    const sink = open(stalled.stdin)
    const stop = new AbortController()
    const events = [buildEvent({ pop: 'x'.repeat(1_000_000) })]
    const deliveries = await Promise.all(Array.from({ length: 5 }, (_, zone) => stream(sink, zone)))
    const results = deliveries.map((opened) => opened.deliver(events, stop.signal))
    await expect.poll(() => stalled.stdin.writableLength).toBeGreaterThan(0)
    expect(stalled.stdin.writableLength).toBeLessThan(1_100_000)
    stop.abort()
    for (const result of results) await expect(result).rejects.toMatchObject({ kind: 'cancelled' })
    const again = new AbortController()
    const after = deliveries[0]!.deliver(events, again.signal)
    again.abort()
    await expect(after).rejects.toMatchObject({ kind: 'cancelled' })
    expect(stalled.stdin.writableLength).toBeLessThan(1_100_000)
    // The reader never reads on, so nothing of this waits for it.
    await sink.close()
    await sink.close()
  })

  it('breaks no line when a waiting delivery is aborted', async () => {
    const slow = reader('sh', '-c', 'read -r first; echo "$first"; exec cat')
    const sink = open(slow.stdin)
    const stop = new AbortController()
    const opened = await stream(sink)
    const first = opened.deliver([buildEvent({ id: 'aborted', pop: 'x'.repeat(2_000_000) })], stop.signal)
    await expect.poll(() => slow.stdin.writableLength).toBeGreaterThan(0)
    stop.abort()
    await expect(first).rejects.toMatchObject({ kind: 'cancelled' })
    const text = read(slow.stdout)
    await opened.deliver(buildEvents(3), never)
    await sink.close()
    slow.stdin.end()
    const lines = (await text).split('\n').slice(0, -1)
    expect(lines.map((line) => format.identify(line)?.id)).toEqual([
      'aborted',
      'event-0',
      'event-1',
      'event-2',
    ])
  })
})

describe('stdout that is a file', () => {
  const script = new URL('ship-to-stdout.ts', import.meta.url).pathname

  async function ship(limits: string): Promise<{ file: string; report: string }> {
    const folder = await mkdtemp(path.join(tmpdir(), 'shieldlog-stdout-'))
    try {
      const target = path.join(folder, 'out.ndjson')
      const child = spawn('sh', ['-c', `${limits} exec "$0" "$1" > "$2"`, process.execPath, script, target])
      const [report] = await Promise.all([read(child.stderr), once(child, 'exit')])
      return { file: await readFile(target, 'utf8'), report: report.trim() }
    } finally {
      await rm(folder, { recursive: true })
    }
  }

  it('is never acknowledged for a write that was cut short', async () => {
    const { file, report } = await ship("trap '' XFSZ; ulimit -f 8;")
    expect(file.length).toBeGreaterThan(0)
    expect(file.split('\n').length).toBeLessThan(100)
    expect(report).toMatch(/^stop sink_gone: .*EFBIG/)
  })
})
