import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { accessKey, executeWith, openWorkshopWithApi } from './workshop.ts'
import * as faults from '../simulator/faults.ts'

/** A folder with a file that changes rule 1 of the simulator. */
async function withRule() {
  const workshop = await openWorkshopWithApi()
  const file = join(workshop.folder, 'rule.yaml')
  const write = (text: string) => writeFileSync(file, text)
  write(JSON.stringify({ ruleName: 'new', ruleConfiguration: { timeframe: 'PerOneHour' } }))
  const run = (...args: readonly string[]) =>
    workshop.execute('rate-limit', 'update', '1', '--file', file, ...args)
  return { ...workshop, file, write, update: run }
}

describe('rate-limit update', () => {
  test('prints the rule of the answer as YAML, and with --json as JSON', async () => {
    const { update, simulator } = await withRule()
    const { code, stdout, stderr } = await update()
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^ruleName: new\n[^]*^ {2}timeframe: 3600$/m)
    expect(simulator.rateLimitRule(1)).toMatchObject({ ruleConfiguration: { timeframe: 3600 } })
    expect(JSON.parse((await update('--json')).stdout)).toEqual(simulator.rateLimitRule(1))
  })

  test('reads YAML, and standard input alike', async () => {
    const { update, write, folder, simulator } = await withRule()
    write('# comment\nruleName: from YAML\nruleConfiguration: { blockTime: ForOneHour }\n')
    expect((await update()).code).toBe(0)
    expect(simulator.rateLimitRule(1)).toMatchObject({ ruleName: 'from YAML' })
    const args = ['rate-limit', 'update', '1', '--file', '-', '--dry-run', '--json']
    const readInput = async () => 'ruleName: x'
    const { stdout } = await executeWith(join(folder, 'shieldlog.yaml'), args, { readInput })
    expect(JSON.parse(stdout)).toMatchObject({ method: 'PATCH', body: { ruleName: 'x' } })
  })

  test('with --dry-run shows the request as it would be sent, needs no key and sends nothing', async () => {
    const { update, configure, simulator } = await withRule()
    configure({ api: { baseUrl: simulator.url }, zones: [] })
    const { code, stdout, stderr } = await update('--dry-run')
    expect([code, stderr]).toEqual([0, 'Nothing was sent.\n'])
    expect(parse(stdout)).toEqual({
      method: 'PATCH',
      url: `${simulator.url}/shield/rate-limit/1`,
      headers: { AccessKey: '***', 'Content-Type': 'application/json' },
      body: { ruleName: 'new', ruleConfiguration: { timeframe: 3600 } },
    })
    expect(simulator.requests).toEqual([])
  })

  test('refuses a wrong body before anything is sent, and names line, field, value and what is allowed', async () => {
    const { update, write, file, simulator } = await withRule()
    write('ruleName: x\ncolour: red\nruleConfiguration:\n  timeframe: 61\n')
    const refused = await update()
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(
      new RegExp(
        `^${file}:4: ruleConfiguration.timeframe: 61 is not allowed; allowed: 1 Per.*\n` +
          `${file}:2: colour: no such field; allowed: ruleName, .*\nNothing was sent\\.`,
      ),
    )
    expect(await update('--dry-run')).toEqual(refused)
    for (const [text, told] of [
      ['{', /is not valid YAML/],
      ['ruleName: a\nruleName: b\n', /rule\.yaml:2 .*duplicate key/],
    ] as const) {
      write(text)
      expect(await update()).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(told) })
    }
    expect(simulator.requests).toEqual([])
  })
})

test('upload-scanning prints the figures of zones as YAML and JSON, and hides no zone that works', async () => {
  const { execute, simulator } = await openWorkshopWithApi()
  const one = JSON.parse((await execute('upload-scanning', '--zone', '101', '--json')).stdout) as object
  expect(one).toMatchObject({ zone: 101, totalFilesScanned: expect.any(Number) as number })
  const two = await execute('upload-scanning', '--zone', '101,shop,102', '--json')
  expect(JSON.parse(two.stdout)).toMatchObject([one, { zone: 102 }])
  expect(parse((await execute('upload-scanning', '--zone', '101')).stdout)).toEqual(one)

  simulator.fail({ match: { zone: 101 }, fault: faults.errorKey({ errorKey: 'invalid_plan_type.x' }) })
  const { code, stdout, stderr } = await execute('upload-scanning', '--zone', '101,102')
  expect([code, stdout]).toEqual([1, expect.stringContaining('zone: 102')])
  expect(stderr).toMatch(/^zone 101 \(shop\): .*invalid_plan_type\.x/)
})

test('volumes prints the volumes as YAML and JSON, and fails at a list without end', async () => {
  const { execute, simulator } = await openWorkshopWithApi()
  const listed = await execute('volumes', '--app', 'shop', '--json')
  const volumes = JSON.parse(listed.stdout) as object
  expect(volumes).toMatchObject({ items: { length: 3 }, summary: { totalPods: 4 }, isWhole: true })
  const { code: ended, stdout, stderr: told } = await execute('volumes', '--app', 'shop')
  expect([listed.code, ended, parse(stdout), told]).toEqual([0, 0, volumes, ''])

  simulator.set({ pageSize: 1 })
  simulator.fail({ fault: faults.repeatCursor(), times: Infinity })
  const { code, stderr } = await execute('volumes', '--app', 'shop')
  expect([code, stderr]).toEqual([1, expect.stringContaining('there may be more volumes')])
})

test('each command uses the key of the chosen account', async () => {
  const { configure, execute, simulator } = await openWorkshopWithApi()
  configure({
    api: { baseUrl: simulator.url },
    zones: [],
    accounts: [
      { name: 'wrong', accessKey: 'a-wrong-key', zones: [101] },
      { name: 'right', accessKey, zones: [{ id: 102, name: 'blog' }] },
    ],
  })
  const several = await execute('volumes', '--app', 'shop')
  expect(several).toMatchObject({ code: 2, stdout: '' })
  expect(several.stderr).toContain('choose one with --account: wrong, right')
  const wrong = await execute('volumes', '--app', 'shop', '--account', 'wrong')
  expect(wrong).toMatchObject({ code: 1, stdout: '' })
  expect(wrong.stderr).toMatch(/^volumes of account wrong: the API refuses the access key/)
  const right = await execute('volumes', '--app', 'shop', '--account', 'right', '--json')
  expect([right.code, JSON.parse(right.stdout)]).toMatchObject([0, { items: { length: 3 } }])
  expect((await execute('upload-scanning', '--zone', 'blog')).code).toBe(0)
  expect((await execute('upload-scanning', '--zone', '101')).code).toBe(1)
})
