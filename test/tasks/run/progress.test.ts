import { expect, test } from 'vitest'
import type { Daemon } from '../../../src/process/daemon.ts'
import type { Io, Output } from '../../../src/terminal/io.ts'
import { progressMode } from '../../../src/terminal/live.ts'
import { createProgress } from '../../../src/tasks/run/progress.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { InternalEvent } from '../../../src/domain/internal-event.ts'
import type { Observation } from '../../../src/domain/observation.ts'
import { waitFor } from '../../setup/wait-for.ts'

const file = { name: 'archive', type: 'file', path: '/nowhere/events' }
const stdout = { name: 'out', type: 'stdout' }

function configOf(sinks: readonly object[], more: object = {}) {
  const zones = [{ id: 101, name: 'shop' }, 102]
  const draft = { api: { accessKey: 'x' }, zones, sinks, ...more }
  return loadConfig({ draft, env: {}, cwd: '/nowhere' }).config
}

/** What a terminal that is wide enough would show, for the two sequences that the table uses. */
function terminal(columns = 80): Output & { screen(): string[]; written: string[] } {
  const lines: string[] = ['']
  const written: string[] = []
  return {
    isTTY: true,
    columns,
    hasColors: () => false,
    written,
    write(text) {
      written.push(text)
      const [count = '', erased] = text.startsWith('\u001B[') ? text.slice(2).split('F\u001B[J', 2) : []
      if (erased !== undefined) lines.splice(lines.length - 1 - Number(count), lines.length, '')
      const [first = '', ...rest] = (erased ?? text).split('\n')
      lines[lines.length - 1] += first
      lines.push(...rest)
    },
    screen: () => lines.slice(0, -1),
  }
}

function pipe(): Output & { text(): string } {
  let text = ''
  return { write: (part) => void (text += part), text: () => text }
}

function ioOf(outputs: Pick<Io, 'stdout' | 'stderr'>): Io {
  return {
    ...outputs,
    signal: new AbortController().signal,
    exit(code) {
      throw new Error(`ended at once with ${code}`)
    },
    onHangup: () => () => undefined,
  }
}

const read = (zone: number, sink = 'archive') =>
  ({ name: 'PageFetched', stream: { zone, sink } }) as InternalEvent
const committed = (zone: number, delivered: number, sink = 'archive') =>
  ({ name: 'LoadCommitted', stream: { zone, sink }, delivered, filtered: 0 }) as InternalEvent

/** A running shipper whose store says this lag of every zone. */
function daemonWith(lagSeconds: number): Daemon {
  const routes = [101, 102].map((zone) => ({ summary: { zone, sink: 'archive', lagSeconds } }))
  const observe = async () => ({ routes }) as unknown as Observation
  return { engine: () => ({ observe }) } as unknown as Daemon
}

test.for([
  ['a table on a terminal', [file], {}, true, true, 'live'],
  ['lines where stderr is a pipe', [file], {}, true, false, 'plain'],
  ['lines where the log is JSON', [file], { log: { format: 'json' } }, true, true, 'plain'],
  ['lines beside events that go into a pipe', [stdout], {}, false, true, 'plain'],
  ['no progress between events on a terminal', [file, stdout], {}, true, true, 'quiet'],
] as const)('shows %s', ([, sinks, more, stdoutIsTTY, stderrIsTTY, mode]) => {
  const outputs = { stdout: { ...pipe(), isTTY: stdoutIsTTY }, stderr: { ...pipe(), isTTY: stderrIsTTY } }
  expect(progressMode(configOf(sinks, more), ioOf(outputs))).toBe(mode)
})

test('draws one table in place, and lines of the log above it', async () => {
  const stderr = terminal()
  const progress = createProgress(configOf([file]), ioOf({ stdout: pipe(), stderr }))
  const stop = new AbortController()
  const following = progress.follow(daemonWith(75), stop.signal)
  progress.watch(read(101))
  progress.watch(committed(101, 10))
  await waitFor(() => stderr.screen().length === 3, { what: 'a table' })
  progress.log?.write('a line of the log\n')
  progress.say('a line for people')
  progress.watch(read(101))
  progress.watch(committed(101, 7))
  await waitFor(() => stderr.screen().join('\n').includes('17'), { what: 'the next drawing' })
  stop.abort()
  await following
  progress.end()
  expect(stderr.screen().slice(0, -1)).toEqual([
    'a line of the log',
    'a line for people',
    'zone           pages     shipped  lag',
    '101 (shop)         2          17  1 min 15 s',
    '102                0           0  1 min 15 s',
  ])
  expect(stderr.screen().at(-1)).toMatch(
    /^shipped 17 events to archive; read 2 pages of 2 zones in \d+\.\d s$/,
  )
})

test('sums the zones that do not fit on the screen in one row, and draws no line that a narrow terminal would wrap', () => {
  const stderr = terminal(38)
  const zones = Array.from({ length: 40 }, (_, index) => index + 1)
  const progress = createProgress(configOf([file], { zones }), ioOf({ stdout: pipe(), stderr }))
  for (let zone = 1; zone <= 40; zone++) {
    progress.watch(read(zone))
    progress.watch(committed(zone, 2))
  }
  progress.end()
  const [, ...rows] = stderr.screen()
  expect(rows[14]).toMatch(/^… and 26 more +26 +52/)
  expect(rows.slice(15).join(' ')).toMatch(/^shipped 80 events/)
  for (const line of rows.slice(0, 15)) expect(line.length).toBeLessThan(38)
})

test.each([
  ['auto', true],
  ['pretty', false],
])('to a pipe with log.format %s, names several sinks in the form of the log', (format, isJson) => {
  const stderr = pipe()
  const sinks = [file, { ...file, name: 'copy', path: '/nowhere/copy' }]
  const config = configOf(sinks, { zones: 'all', log: { format, level: 'error' } })
  const progress = createProgress(config, ioOf({ stdout: pipe(), stderr }))
  // With `zones: all` the configuration does not name them.
  for (const sink of ['archive', 'copy']) {
    progress.watch(read(7, sink))
    progress.watch(committed(7, sink === 'copy' ? 1 : 5, sink))
  }
  progress.end()
  progress.say('a line for people')
  const lines = stderr.text().split('\n').filter(Boolean)
  // The log on a pipe has JSON lines only.
  const texts = isJson ? lines.map((line) => (JSON.parse(line) as { msg: string }).msg) : lines
  expect(texts).toEqual([
    'zone 7 → archive: 1 page, 5 events shipped',
    'zone 7 → copy: 1 page, 1 event shipped',
    expect.stringMatching(/^shipped 5 events to archive and 1 event to copy; read 2 pages of 1 zone in/),
    'a line for people',
  ])
  expect(stderr.text()).not.toContain('\u001B')
})
