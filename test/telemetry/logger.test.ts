import { spawn } from 'node:child_process'
import { openSync, closeSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { anything, assert, property } from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Secret } from '../../src/domain/text/secret.ts'
import { createLogger, printableField, type Fields } from '../../src/telemetry/logger.ts'
import { printable } from '../../src/domain/text/terminal-text.ts'
import { binaryText } from '../setup/binary-text.ts'
import { keepLog, matching } from './log-lines.ts'

const hostile = 'a\u001b[2J\r\nb\u009b31m\u202etxt\u200b\u{e0041}\ud800%s%d{"x":1}'
/** Whatever acts on a terminal instead of being shown, apart from the line breaks and colours that are ours. */
const acting = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

describe('the logger', () => {
  it('writes one JSON object per line, with time, level and event', () => {
    const stream = keepLog()
    const logger = createLogger({ level: 'debug', format: 'json', stream })
    logger.line('info', 'Started', 'one', { zones: 3, list: ['a', 'b'] })
    logger.line('error', 'Warned', 'two')
    logger.line('debug', 'Warned', 'three')
    const [first, second, third] = stream.lines()
    expect(first).toEqual({
      level: 'info',
      time: matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      event: 'Started',
      zones: 3,
      list: ['a', 'b'],
      msg: 'one',
    })
    expect([second?.['level'], third?.['msg']]).toEqual(['error', 'three'])
  })

  it('changes its level while running', () => {
    const stream = keepLog()
    const logger = createLogger({ level: 'warn', format: 'json', stream })
    logger.line('info', 'Warned', 'not yet')
    logger.setLevel('debug')
    expect(logger.isEnabled('debug')).toBe(true)
    logger.line('debug', 'Warned', 'now')
    logger.setLevel('silent')
    logger.line('fatal', 'Warned', 'never')
    expect(stream.lines().map(({ msg }) => msg)).toEqual(['now'])
  })

  it.each([
    ['auto', true, undefined, 'coloured'],
    ['auto', true, false, 'pretty'],
    ['auto', false, undefined, 'json'],
    ['pretty', false, undefined, 'pretty'],
    ['pretty', true, undefined, 'coloured'],
    ['json', true, undefined, 'json'],
  ] as const)('format %s on a terminal (%s), with color %s, is %s', (format, isTTY, color, form) => {
    const stream = keepLog(isTTY)
    const options = { level: 'info', format, stream, ...(color !== undefined && { color }) } as const
    createLogger(options).line('info', 'Started', 'hello', { zones: 1 })
    if (form === 'json') return expect(stream.lines()).toHaveLength(1)
    expect(stream.text().includes('\u001b[')).toBe(form === 'coloured')
    return expect(stripVTControlCharacters(stream.text())).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ INFO  hello\n$/,
    )
  })

  const shown = (message: string, fields: Fields, columns?: number) => {
    const stream = { ...keepLog(true), ...(columns !== undefined && { columns }) }
    const logger = createLogger({ level: 'info', format: 'auto', color: false, stream })
    logger.line('warn', 'Warned', message, fields)
    return stream.text().replaceAll(/^\S+Z WARN {2}/gm, '')
  }

  it('shows people the text, and of a warning its event; of a bug where it happened', () => {
    expect(shown('zone 101 (shop) → siem: refused', { zone: 101, code: 'rejected' })).toBe(
      'zone 101 (shop) → siem: refused  event=Warned\n',
    )
    expect(shown('a bug', { stack: ['at one', 'at two'] })).toBe('a bug  event=Warned\n  at one\n  at two\n')
  })

  it('wraps long lines at words on a terminal, and nowhere else', () => {
    const message = 'word '.repeat(30).trim()
    const lines = shown(message, {}, 80).trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect(lines.slice(1).every((line) => line.startsWith('  ') && line.length <= 80)).toBe(true)
    expect(lines.join(' ').replaceAll(/ +/g, ' ')).toBe(`${message} event=Warned`)
    const stream = keepLog()
    createLogger({ level: 'info', format: 'pretty', stream }).line('info', 'Warned', message)
    expect(stream.text().split('\n')).toHaveLength(2)
  })

  it.each(['json', 'pretty'] as const)('escapes all text (%s)', (format) => {
    const stream = keepLog()
    const logger = createLogger({ level: 'info', format, stream })
    class Odd {
      toString = () => hostile
    }
    logger.line('info', 'Warned', hostile, {
      text: hostile,
      list: [hostile, { deep: hostile }],
      error: new Error(hostile),
      err: new Error(hostile),
      stack: hostile,
      odd: new Odd(),
      [hostile]: 1,
    })
    const lines = stream.text().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).not.toMatch(acting)
    expect(lines[0]).toContain('%s%d')
  })

  it('shows no secret, and cuts long and deep values', () => {
    const stream = keepLog()
    const logger = createLogger({ level: 'info', format: 'json', stream })
    const deep = { a: { b: { c: { d: { e: 1 } } } } }
    logger.line('info', 'Warned', 'm'.repeat(100_000), {
      secret: new Secret('hunter2'),
      holder: { token: new Secret('hunter2') },
      long: 'x'.repeat(100_000),
      many: Array.from({ length: 1000 }, String),
      deep,
      big: 10n,
      nan: Number.NaN,
    })
    expect(stream.text()).not.toContain('hunter2')
    expect(stream.text().length).toBeLessThan(5000)
    expect(stream.lines()[0]).toMatchObject({
      secret: '***',
      big: '10n',
      nan: 'NaN',
    })
  })
})

it('printable text keeps what is ordinary in any language, and escapes what a terminal interprets', () => {
  for (const text of ['zone 101 (shop) → archive: ok', 'Größe', '日本語', '🙂', 'a\\nb', '"quoted"'])
    expect(printable(text)).toBe(text)
  assert(property(binaryText(), (each) => !acting.test(printable(each))))
  const values = anything({ withBigInt: true, withDate: true, withMap: true, maxDepth: 3, maxKeys: 3 })
  const isInert = (value: unknown) => !acting.test(JSON.stringify(printableField(value)) ?? '')
  assert(property(values, isInert), { numRuns: 30 })
})

const script = `
  const { createLogger } = await import(${JSON.stringify(new URL('../../src/telemetry/logger.ts', import.meta.url).href)})
  const logger = createLogger({ level: 'info', format: 'auto' })
  for (let index = 0; index < 500; index++) logger.line('info', 'Warned', 'line ' + index, { pad: 'x'.repeat(900) })
  process.stdout.write('alive')
  process.exit(7)`

/** Logs 500 lines to a target; what came over the pipes, and the exit code. */
async function logTo(stderr: 'pipe' | 'closed' | number) {
  const io = ['ignore', 'pipe', stderr === 'closed' ? 'pipe' : stderr] as const
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: [...io] })
  if (stderr === 'closed') child.stderr?.destroy()
  const code = new Promise((resolve) => child.once('exit', resolve))
  // Both at once: Node discards what nobody reads yet when the process ends.
  const log = stderr === 'pipe' ? text(child.stderr!) : ''
  const out = await text(child.stdout!)
  return { out, log: await log, code: await code }
}

it('the log on stderr is complete and in order although the process exits at once', async () => {
  const { out, log, code } = await logTo('pipe')
  expect([out, code]).toEqual(['alive', 7])
  const messages = log
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
  expect(messages).toEqual(Array.from({ length: 500 }, (_, index) => `line ${index}`))
})

it('a reader that closes the pipe, or a full disk, does not end the process', async () => {
  const full = openSync('/dev/full', 'w')
  onTestFinished(() => closeSync(full))
  const alive = { out: 'alive', log: '', code: 7 }
  expect(await Promise.all([logTo('closed'), logTo(full)])).toEqual([alive, alive])
})
