import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { afterEach, describe, expect, it, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Day } from '../../../src/domain/day.ts'
import { createNativeFormat } from '../../../src/formats/native.ts'
import type { OpenStream, Sink } from '../../../src/ports/delivery.ts'
import { createStdoutSink } from '../../../src/sinks/stdout/sink.ts'
import { buildEvent, buildEvents } from '../../formats/events.ts'
import { smallDisk } from '../../setup/small-disk.ts'

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

test('a file is never acknowledged for a write that was cut short', async ({ skip }) => {
  const disk = smallDisk(1)
  if (disk === undefined) {
    skip('mounting a small tmpfs needs root')
    return
  }
  const file = join(disk, 'out.ndjson')
  const fd = openSync(file, 'w')
  const opened = await stream(open(Object.assign(new PassThrough(), { fd })))
  const failed = { kind: 'stop', code: 'disk_full' }
  await expect(opened.deliver(buildEvents(4_000), never)).rejects.toMatchObject(failed)
  closeSync(fd)
  expect(statSync(file).size).toBeGreaterThan(1_000_000)
})
