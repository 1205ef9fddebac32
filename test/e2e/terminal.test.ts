import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { openWorkshopWithApi } from '../tasks/workshop.ts'
import { programFile } from '../setup/program/program-file.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { ctrlC, startOnTerminal, terminalAvailable } from '../setup/terminal.ts'
import { waitFor } from '../setup/wait-for.ts'
import { accessKey, simulated } from './workplace.ts'

const program = `${process.execPath} ${programFile('cli')}`

async function startInit(args = '') {
  const simulator = await simulated()
  const folder = temporaryFolder()
  const command = `${program} init --set api.baseUrl=${simulator.url} ${args}`
  const env = { SHIELDLOG_CONFIG: undefined, SHIELDLOG_API_ACCESS_KEY: undefined, NO_PROXY: '127.0.0.1' }
  const child = startOnTerminal(command, { cwd: folder, env })
  let read = 0
  // Without what moves the cursor.
  const shown = () => stripVTControlCharacters(child.stdout())
  /** Answers the next question that matches. */
  async function answer(question: RegExp, text: string): Promise<void> {
    await waitFor(() => question.test(shown().slice(read)), {
      what: () => `${String(question)} after: ${shown().slice(read)}`,
    })
    read = shown().length
    child.type(`${text}\r`)
  }
  return { child, folder, answer, shown }
}

describe.skipIf(!terminalAvailable())('on a terminal', () => {
  test('init asks for key, zones and destination, and runs check on what it wrote', async () => {
    const { child, folder, answer } = await startInit()
    await answer(/Access key .*API\): $/, 'a-wrong-key')
    await answer(/refuses the access key[^]*API\): $/, accessKey)
    await answer(
      /zone +pull zone +plan[^]*101 +500101 +Advanced[^]*102 +500102[^]*Zones to ship \(all, or numbers\): $/,
      '999',
    )
    await answer(/\nzone 999 is not a zone of this account[^]*numbers\): $/, '2')
    await answer(/1\) files[^]*> $/, '99')
    await answer(/a number from 1 to \d+[^]*> $/, 'ndjson')
    await answer(/name: .*\[siem\]: $/, 'My SIEM')
    await answer(/at most 63 lower-case[^]*\[siem\]: $/, 'splunk')
    await answer(/url: .*: $/, 'siem')
    // A wrong answer is asked for again, before any secret, and is named as what was asked for.
    await answer(/\nurl "siem" is not an http or https URL; [^]*url: .*: $/, 'http://127.0.0.1:9/in')
    await answer(/Authorization header.*: $/, 'Bearer s3cret')
    await answer(/Wrote shieldlog.yaml \(mode 0600\) and 2 secret files next to it[^]*\[Y\/n\] $/, '')
    // Nobody listens there.
    expect((await child.exited).code, child.stdout()).toBe(1)
    expect(child.stdout()).toMatch(/sink splunk .*FAIL.*127\.0\.0\.1:9/)
    expect(child.stdout()).not.toContain(accessKey)
    expect(child.stdout()).not.toContain('s3cret')
    expect(readdirSync(folder).toSorted()).toEqual([
      'access-key',
      'shieldlog.yaml',
      'splunk-headers-authorization.secret',
    ])
    expect(readFileSync(join(folder, 'access-key'), 'utf8')).toBe(`${accessKey}\n`)
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    expect(parse(readFileSync(join(folder, 'shieldlog.yaml'), 'utf8'))).toMatchObject({
      api: { accessKeyFile: join(folder, 'access-key') },
      zones: [102],
      sinks: [
        {
          name: 'splunk',
          headers: { Authorization: `\${file:${join(folder, 'splunk-headers-authorization.secret')}}` },
        },
      ],
    })
  })

  test('init gives up after three wrong answers to one question', async () => {
    const { child, folder, answer } = await startInit('--zones 101 --destination ndjson')
    await answer(/API\): $/, accessKey)
    await answer(/name: .*: $/, '')
    for (const wrong of ['one', 'two', 'three']) await answer(/url: .*: $/, wrong)
    expect((await child.exited).code, child.stdout()).toBe(2)
    expect(child.stdout()).toMatch(/"three" is not [^]*no valid answer; nothing was written/)
    expect(child.stdout().match(/url: Address/g)).toHaveLength(3)
    expect(readdirSync(folder)).toEqual([])
  })

  test('init that is stopped at a question writes nothing', async () => {
    const { child, folder, answer, shown } = await startInit()
    await answer(/API\): $/, accessKey)
    await waitFor(() => shown().endsWith('numbers): '), { what: 'the question for zones' })
    child.type(ctrlC)
    expect((await child.exited).code, child.stdout()).toBe(1)
    expect(child.stdout()).toContain('nothing was written')
    expect(readdirSync(folder)).toEqual([])
  })

  test('Ctrl-C ends a command, and leaves the cursor visible at the beginning of a line', async () => {
    const { folder, execute, simulator } = await openWorkshopWithApi({ days: 30, pageSize: 5 })
    await execute('run', '--once')
    for (const [args, shown, latencyMs] of [
      ['status --watch', /^102 .* archive /, 0],
      ['tail', /^\d\d:\d\d:\d\d {2}/, 0],
      ['backfill --from yesterday --to today --watch', /^\d{4}-\d\d-\d\d {2}shop /, 2_000],
      ['audit', /^comparing: \d/, 2_000],
    ] as const) {
      simulator.set({ latencyMs })
      await using terminal = startOnTerminal(`${program} ${args} -c shieldlog.yaml`, { cwd: folder })
      await terminal.waitForLine(shown)
      terminal.type(ctrlC)
      const { code } = await terminal.exited
      const output = terminal.stdout()
      expect(code, output).toBe(args === 'audit' ? 3 : 0)
      expect(output.endsWith('\n'), output).toBe(true)
      // Never hidden, so never to be shown again.
      expect(output).not.toContain('\u001B[?25l')
    }
  })

  test('q ends status --watch, and a terminal without a cursor is refused', async () => {
    const { folder, execute } = await openWorkshopWithApi({ days: 2 })
    await execute('run', '--once')
    const command = `${program} status --watch -c shieldlog.yaml`
    await using terminal = startOnTerminal(command, { cwd: folder })
    await terminal.waitForLine(/^102 .* archive /)
    terminal.type('q')
    expect((await terminal.exited).code, terminal.stdout()).toBe(0)
    const dumb = startOnTerminal(command, { cwd: folder, env: { TERM: 'dumb' } })
    expect((await dumb.exited).code, dumb.stdout()).toBe(2)
    expect(dumb.stdout()).toContain('--watch needs a terminal that can redraw')
  })

  test('run reads its settings again for a SIGHUP, and ends for that of its closed terminal', async () => {
    const { folder } = await openWorkshopWithApi({ days: 2 }, { log: { format: 'json' } })
    const command = `${program} run -c shieldlog.yaml 2>run.log`
    const terminal = startOnTerminal(`sh -c 'echo $$; exec ${command}'`, { cwd: folder })
    const [pid] = await terminal.waitForLine(/^\d+/)
    const log = () => readFileSync(join(folder, 'run.log'), 'utf8')
    const logged = (event: string) => waitFor(() => log().includes(`"event":"${event}"`), { what: log })
    await logged('Started')
    process.kill(Number(pid), 'SIGHUP')
    await logged('ConfigReloaded')
    await terminal.kill('SIGKILL')
    const isGone = () => spawnSync('kill', ['-0', pid]).status !== 0
    await waitFor(isGone, { what: 'the end of the process' })
    expect(log()).toMatch(/"event":"Stopped".*\n$/)
  })
})
