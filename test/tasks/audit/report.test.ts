import { createHash, generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { version } from '../../../src/assemble/version.ts'
import { reportOf } from '../../../src/tasks/audit/findings.ts'
import { dayOf, shiftDay, startOf } from '../../../src/domain/day.ts'
import type { Audit } from '../../../src/tasks/audit/report-days.ts'
import { startCli } from '../../setup/processes.ts'
import { openWorkshopWithApi } from '../workshop.ts'

const today = dayOf(Date.now())
const yesterday = shiftDay(today, -1)

test('writes what was compared into one file, and names what is missing', async () => {
  const workshop = await openWorkshopWithApi({ days: 50 }, { zones: [{ id: 101, name: '<b>shop</b>' }] })
  await workshop.execute('run', '--once')
  const noon = startOf(yesterday) + 12 * 3_600_000
  const late = workshop.simulator.append(101, yesterday, 2, { timestampMs: () => noon })
  const file = join(workshop.folder, 'audit.html')
  const ended = await workshop.execute('audit', '--day', 'yesterday,today', '--deep', '--report', file)
  expect([ended.code, ended.stderr]).toEqual([1, `report: ${file}\n`])
  const html = readFileSync(file, 'utf8')
  const text = html.replaceAll(/<style>.*<\/style>|<[^>]+>/gs, ' ').replaceAll(/\s+/g, ' ')
  for (const part of [
    '1 of 2 days of a zone and sink differ, have a gap, or could not be read.',
    `made on ${hostname()} by shieldlog ${version} with ${join(workshop.folder, 'shieldlog.yaml')} (settings `,
    `${yesterday} to ${today}: 1 zone, 2 days, 1 sink: the API lists 102 events; files have 100 lines; 2 missing, 0 extra.`,
    `&lt;b&gt;shop&lt;/b&gt; → archive ${yesterday} 52 50 2 0 0 50 2 missing`,
    `&lt;b&gt;shop&lt;/b&gt; → archive ${today} 50 50 0 0 0 50 ok`,
    'the API lists 52 events, 50 were delivered. Missing: 2 at 12:00. By id: ',
    `read again from the API at ${workshop.simulator.url}`,
    '50 delivered = 50 in the ledger.',
    'What it does not show',
  ])
    expect(text).toContain(part)
  for (const { logId } of late) expect(text).toContain(logId)
  const hashes = [...text.matchAll(/order-free hash ([0-9a-f]{16})/g)].map(([, hash]) => hash)
  // Of each day: what the API lists, the ledger, and the ledger as evidence. The day that differs comes first.
  expect([hashes[0] === hashes[1], hashes[3] === hashes[4]]).toEqual([false, true])
  expect(html).not.toMatch(/<script|<b>|style=| on\w+=|(?:src|href)=(?!"#shape-)/)
  const style = /<style>(.*)<\/style>/s.exec(html)?.[1] ?? ''
  expect(html).toContain(createHash('sha256').update(style).digest('base64'))
})

test('writes no report where it could not be written, or nothing was shipped, before it reads anything', async () => {
  const workshop = await openWorkshopWithApi({ days: 5 })
  const file = join(workshop.folder, 'audit.html')
  writeFileSync(file, 'mine')
  const existing = await workshop.execute('audit', '--report', file)
  expect([existing.code, existing.stderr]).toEqual([
    2,
    expect.stringContaining(`--report ${file}: file already exists (EEXIST); name a new file`),
  ])
  expect(readFileSync(file, 'utf8')).toBe('mine')
  const lost = await workshop.execute('audit', '--report', join(workshop.folder, 'no', 'audit.html'))
  expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining('no such file or directory')])
  const none = await workshop.execute('audit', '--report', `${file}l`)
  expect([none.code, existsSync(`${file}l`)]).toEqual([3, false])
  expect(none.stderr).toMatch(
    /there is no state .*\nno report was written, since nothing could be compared\n$/s,
  )
  expect(workshop.simulator.requests).toEqual([])
})

test('a signed report is proven by its key, and by no other key, nor once a byte has changed', async () => {
  const workshop = await openWorkshopWithApi({ days: 5 })
  await workshop.execute('run', '--once')
  const [file, key, other] = ['audit.html', 'key.pem', 'other.pem'].map((name) =>
    join(workshop.folder, name),
  ) as [string, string, string]
  for (const path of [key, other]) {
    const { privateKey } = generateKeyPairSync('ed25519')
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  }
  const verify = async (by = key) => {
    const { code, stdout } = await workshop.execute('audit', 'verify', file, '--key', by)
    return [code, stdout.replace(file, 'audit.html')]
  }
  await workshop.execute('audit', '--report', file, '--sign', key)
  expect(await verify()).toEqual([0, 'audit.html is as it was when it was signed with this key\n'])
  const changed = 'audit.html is not proven: it was changed after it was signed, or signed with another key\n'
  expect(await verify(other)).toEqual([1, changed])
  const html = readFileSync(file, 'utf8')
  writeFileSync(file, html.replace('Nothing is missing', 'Nothing was missing'))
  expect(await verify()).toEqual([1, changed])
  // What follows the signature would be shown; it is not signed.
  for (const other of [
    html.slice(0, html.indexOf('</html>')),
    html.replace(/ -->\n$/, ' --><h1>All is well</h1><!-- -->\n'),
  ]) {
    writeFileSync(file, other)
    expect(await verify()).toEqual([1, 'audit.html is not proven: it has no signature as its last line\n'])
  }
  const piped = startCli(['audit', 'verify', '-', '--key', key], { input: html })
  expect(await piped.exited, piped.stderr()).toEqual({ code: 0, signal: null })
  expect(await workshop.execute('audit', '--report', '-')).toMatchObject({ code: 2 })
})

test('refuses a key that cannot sign, and a signature without a report, before it reads anything', async () => {
  const workshop = await openWorkshopWithApi()
  const file = join(workshop.folder, 'shieldlog.yaml')
  const told = async (...args: string[]) => {
    const { code, stderr } = await workshop.execute('audit', ...args)
    return [code, stderr.replaceAll(workshop.folder, '').replaceAll(/\s+/g, ' ')]
  }
  expect(await told('--sign', file)).toEqual([2, expect.stringContaining('name its file with --report')])
  const made = expect.stringContaining(
    '/shieldlog.yaml holds no private key without a passphrase; make one with: openssl',
  ) as unknown
  expect(await told('--report', `${file}.html`, '--sign', file)).toEqual([2, made])
  expect(workshop.simulator.requests).toEqual([])
})

const same = 'Nothing is missing: what the API lists and the ledger of shieldlog have the same events'

test.each([
  [{}, {}, 'well', `${same}.`],
  [{ notYetDue: 2 }, {}, 'well', `${same} up to the last scan. Not delivered yet: 2 newer events.`],
  // Another process has shipped the events.
  [{}, { unrepaired: 'another process holds it' }, 'attention', `${same}. A repair failed.`],
] as const)('the headline of %j and %j is %s', (counts, finding, level, headline) => {
  const lists = { minutes: [], missingEvents: [], parts: [] }
  const stream = {
    listed: 2,
    ledger: 2,
    isEqual: true,
    missing: 0,
    extra: 0,
    notYetDue: 0,
    ...lists,
    ...counts,
  }
  const found = { day: today, sink: 'archive', zone: 101, name: 'shop', stream, ...finding }
  const audit = { days: [today], findings: [found] } as unknown as Audit
  expect(reportOf(audit, {} as never)).toMatchObject({ level, headline })
})
