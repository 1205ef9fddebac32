import type { Command } from 'commander'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProgram } from '../../src/program/program.ts'
import { openWorkshop } from './workshop.ts'

/** Sections of the configuration whose secrets a command needs. */
type Sections = readonly ('api' | 'notify' | 'sinks' | 'server' | 'state')[]

const all: Sections = ['api', 'notify', 'server', 'sinks', 'state']
const nothing: Sections = []
const state: Sections = ['state']

/** Every command with its subcommands. `no file`: it reads no configuration. */
const needed: Readonly<Record<string, Sections | 'no file'>> = {
  run: all,
  check: all,
  demo: 'no file',
  'backfill --source archive --sink siem --from today --to today': ['api', 'sinks', 'state'],
  'backfill --from today --to today --dry-run': ['api', 'state'],
  'backfill --from today --to today': ['api', 'state'],
  'backfill list': state,
  'backfill pause 5f0c1d2e3a': state,
  'backfill cancel 5f0c1d2e3a': state,
  'backfill resume 5f0c1d2e3a': ['api', 'state'],
  'gaps list': state,
  'gaps acknowledge --yes': state,
  status: state,
  'fetch --zone 101 --day today': ['api'],
  'fetch --zone 101 --day today --sink siem': ['api'],
  tail: ['api'],
  'tail --sink siem': ['api'],
  'top --by rule': ['api'],
  audit: ['api', 'state'],
  'audit --deep': ['api', 'state'],
  'audit --repair': ['api', 'sinks', 'state'],
  'audit verify audit.html --key key.pem': nothing,
  'dead-letters list': state,
  'dead-letters show': state,
  'dead-letters export': state,
  'dead-letters drop --yes': state,
  'dead-letters replay': ['sinks', 'state'],
  'probe --zone 101': ['api'],
  'notify test': ['notify'],
  zones: ['api'],
  init: 'no file',
  'state rename-sink archive files': state,
  'state new-sink archive': state,
  'state forget-sink archive --yes': state,
  'state forget-zone 103 --yes': state,
  'state backup copy.db': state,
  simulate: 'no file',
  'config print': nothing,
  'config schema': nothing,
  'rate-limit update 7 --file rule.json': ['api'],
  'rate-limit update 7 --file rule.json --dry-run': nothing,
  'rate-limit schema': nothing,
  'upload-scanning --zone 101': ['api'],
  'volumes --app a': ['api'],
  health: nothing,
  completion: 'no file',
}

const unset = {
  api: { baseUrl: '${SHIELDLOG_TEST_UNSET}', accessKeyFile: './absent', tls: { caFile: './absent.pem' } },
  state: { redis: { url: 'redis://127.0.0.1:9', passwordFile: './absent' } },
  sinks: [
    { name: 'archive', type: 'file', path: './events' },
    {
      name: 'siem',
      type: 'http',
      url: 'https://siem.example/${SHIELDLOG_TEST_UNSET}',
      headers: { Authorization: 'Bearer ${SHIELDLOG_TEST_UNSET}' },
      tls: { caFile: './absent.pem' },
    },
    { name: 'log', type: 'syslog', host: '${SHIELDLOG_TEST_UNSET}' },
  ],
  server: { tokenFile: './absent', port: 9 },
  notify: [{ name: 'ops', urlFile: './absent' }],
}

test.each(Object.entries(needed).filter(([, sections]) => sections !== 'no file'))(
  '%s needs the secrets of %j alone',
  async (command, sections) => {
    const { folder, execute } = openWorkshop(unset)
    const rule = join(folder, 'rule.json')
    writeFileSync(rule, '{"ruleName":"logins"}')
    const { code, stderr } = await execute(
      ...command.split(' ').map((word) => (word === 'rule.json' ? rule : word)),
    )
    expect(sectionsIn(stderr)).toEqual(sections)
    expect([75, 78].includes(code!)).toBe(sections.length > 0)
  },
)

/** Each error begins with the path of its setting. */
function sectionsIn(errors: string): string[] {
  return [
    ...new Set(errors.matchAll(/(?<=^\s*)(api|notify|sinks|server|state)(?=[.[])/gm).map(([found]) => found)),
  ].sort()
}

test('the table has every command', async () => {
  const io = { stdout: { write: () => true }, stderr: { write: () => true } }
  const program = await createProgram(io as never, () => undefined)
  const known = Object.keys(needed)
  const missing = leavesOf(program).filter((name) => !known.some((each) => `${each} `.startsWith(`${name} `)))
  expect(missing).toEqual([])
})

function leavesOf(command: Command, before = ''): string[] {
  return command.commands.flatMap((child) => {
    const name = `${before}${child.name()}`
    return child.commands.length === 0 ? [name] : leavesOf(child, `${name} `)
  })
}

test('config print shows what cannot be read, and why, in its place', async () => {
  const { execute } = openWorkshop(unset)
  const { code, stdout } = await execute('config', 'print')
  expect(code).toBe(0)
  for (const name of ['url', 'Authorization', 'host'])
    expect(stdout).toMatch(
      new RegExp(`${name}: unresolved # file .*; uses \\$.SHIELDLOG_TEST_UNSET}, which is`),
    )
  expect(stdout).toMatch(/passwordFile: .*absent # file .*; uses .*absent, which cannot be read: /)
  expect(stdout).toMatch(/caFile: .*absent.pem # /)
  expect(stdout).not.toContain('unresolved.invalid')
})

test('a backfill that no running process takes needs the secrets of its sinks', async () => {
  const headers = { Authorization: 'Bearer ${SHIELDLOG_TEST_UNSET}' }
  const sinks = [{ name: 'siem', type: 'http', url: 'https://siem.example', headers }]
  const alone = await openWorkshop({ sinks }).execute('backfill', '--from', 'today', '--to', 'today')
  expect(alone).toMatchObject({ code: 78, stdout: '' })
  expect(sectionsIn(alone.stderr)).toEqual(['sinks'])
})
