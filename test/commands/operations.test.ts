import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { accessKey, openWorkshopWithApi } from './workshop.ts'

test('changes a rate limit rule and prints what the API answers', async () => {
  const { execute, folder, simulator } = await openWorkshopWithApi()
  const id = 7
  simulator.setRateLimitRule({
    id,
    shieldZoneId: 101,
    userId: null,
    ruleName: 'old',
    ruleDescription: null,
    ruleJson: null,
    ruleConfiguration: {},
  } as never)
  const file = join(folder, 'rule.json')
  writeFileSync(file, JSON.stringify({ ruleName: 'new' }))
  const { code, stdout, stderr } = await execute('rate-limit', 'update', String(id), '--file', file)
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({ id, ruleName: 'new' })
  expect(simulator.rateLimitRule(id)).toMatchObject({ ruleName: 'new' })

  writeFileSync(file, JSON.stringify({ ruleName: 'newer', colour: 'red' }))
  const refused = await execute('rate-limit', 'update', String(id), '--file', file)
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: 'colour: no such field; remove it\n' })
  writeFileSync(file, '{')
  expect((await execute('rate-limit', 'update', '7', '--file', file)).code).toBe(2)
  expect(simulator.requests).toHaveLength(1)
})

test('prints volumes and upload scanning figures, under the account that is meant', async () => {
  const { configure, execute, simulator } = await openWorkshopWithApi()
  const api = { baseUrl: simulator.url }
  configure({ api: { ...api, accessKey }, zones: [] })
  const figures = await execute('upload-scanning', '--zone', '101')
  expect(JSON.parse(figures.stdout)).toHaveProperty('totalFilesScanned')
  configure({
    api,
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
  expect(wrong.stderr).toMatch(/^volumes of account wrong: the access key is refused/)
  simulator.setVolumes('shop', [])
  const right = await execute('volumes', '--app', 'shop', '--account', 'right')
  expect([right.code, JSON.parse(right.stdout)]).toMatchObject([0, { items: [] }])
  const blog = await execute('upload-scanning', '--zone', 'blog')
  expect([blog.code, JSON.parse(blog.stdout)]).toMatchObject([0, {}])
})
