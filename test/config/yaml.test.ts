import { expect, test } from 'vitest'
import { errorsOf, load } from './loading.ts'

const bad: readonly [name: string, yaml: string, where: string, problem: string, remedy: string][] = [
  ['a key twice', 'zones: [1]\nzones: [2]\n', ':2', 'duplicate key', 'remove one'],
  ['an open bracket', 'zones: [1\npoll: {}\n', ':2', 'is not valid YAML', 'correct that line'],
  ['an open quote', 'log: { level: "info }\n', ':2', 'is not valid YAML', 'correct that line'],
  ['tabs', 'poll:\n\teverySeconds: 3\n', ':2', 'tab as indent', 'correct that line'],
  ['a template in a flow map', 'api: { accessKey: ${KEY} }\n', ':1', 'is not valid YAML', 'in quotes'],
  ['an unknown tag', 'zones: !secret [1]\n', ':1', 'tag resolve failed', 'correct'],
  ['two documents', 'zones: [1]\n---\nzones: [2]\n', ':2', 'multiple docs', 'correct'],
  ['an unknown anchor', 'zones: *other\n', '', 'without its anchor', 'write the values instead'],
]

test.each(bad)('refuses %s with its line', (_, yaml, where, problem, remedy) => {
  const [error, ...others] = errorsOf({ yaml })
  expect(others).toEqual([])
  expect(error).toMatchObject({ path: '', where: `shieldlog.yaml${where}` })
  expect(error?.problem).toContain(problem)
  expect(error?.remedy).toContain(remedy)
})

test('reports all duplicate keys', () => {
  const yaml = 'zones: [1]\nzones: [1]\nlog: {}\nlog: {}\n'
  expect(errorsOf({ yaml }).map(({ where }) => where)).toEqual(['shieldlog.yaml:2', 'shieldlog.yaml:4'])
})

test.each(['[1, 2]', 'text', '5', 'true'])('refuses %s instead of a map', (yaml) => {
  expect(errorsOf({ yaml })).toMatchObject([{ path: '', problem: 'is not a map of settings' }])
})

test.each(['', '# nothing\n', '---\n', 'null\n', 'api:\nzones:\npoll:\n'])('treats %j as empty', (yaml) => {
  expect(load({ yaml, needs: 'nothing' }).config.sinks).toEqual([
    { type: 'stdout', name: 'stdout', format: 'native' },
  ])
})

test('survives anchors that refer to themselves or grow without bound, and deep nesting', () => {
  const bomb = ['a: &a [1,1,1,1,1,1,1,1,1,1]']
  for (const [to, from] of ['ba', 'cb', 'dc', 'ed', 'fe'].map((route) => route.split('')))
    bomb.push(`${to}: &${to} [${Array.from({ length: 10 }, () => `*${from}`).join(',')}]`)
  const deep = `zones: ${'['.repeat(3_000)}${']'.repeat(3_000)}`
  for (const yaml of [bomb.join('\n'), 'zones: &z [*z]\n', 'api: &a { tls: *a }\n', deep])
    expect(errorsOf({ yaml }).length).toBeGreaterThan(0)
})

test('settings that share an anchor do not change each other when the environment overrides one', () => {
  const yaml = 'api: { tls: &t {} }\nzones: [1]\nstate: { redis: { url: "redis://h", tls: *t } }\n'
  const { config } = load({ yaml, env: { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_STATE_KEEP_DAYS: '3' } })
  expect(config.state).toMatchObject({ kind: 'redis', keepDays: 3 })
})

test('treats off and yes as text, as YAML 1.2 does', () => {
  const yaml = 'api: { accessKey: yes }\nzones: [{ id: 1, name: off }]\nredact: off\n'
  const { config } = load({ yaml })
  expect(config.redact).toBe('off')
  expect(config.accounts[0]?.zones).toEqual([{ id: 1, name: 'off', account: 'default' }])
  expect(config.accounts[0]?.accessKey.reveal()).toBe('yes')
})

test('never quotes the text around an error', () => {
  for (const yaml of [
    'api: { accessKey: canary-9f3\n',
    'api:\n  accessKey: "canary-9f3\n',
    'api:\n  accessKey: "canary-9f3 \\q"\n',
    'api:\n  accessKey: *canary-9f3\n',
    'api:\n  accessKey: canary-9f3: x\n',
    'api:\n  accessKey: !canary-9f3 x\n',
    'api:\n accessKey canary-9f3\nzones: [1]\n',
  ]) {
    const errors = errorsOf({ yaml })
    expect(errors.length).toBeGreaterThan(0)
    expect(JSON.stringify(errors)).not.toContain('canary-9f3')
  }
})

test('takes merge keys, and leaves top-level x- keys to the aliases', () => {
  const yaml = `
x-siem: &siem { type: http, url: 'https://siem.example/in', batch: { maxEvents: 10 } }
zones: [1]
sinks:
  - { <<: *siem, name: a }
  - <<: *siem
    name: b
    batch: { maxEvents: 20 }
`
  const sinks = load({ yaml, needs: 'nothing' }).config.sinks
  expect(sinks).toMatchObject([
    { name: 'a', type: 'http', batch: { maxEvents: 10 } },
    { name: 'b', type: 'http', batch: { maxEvents: 20 } },
  ])
})

test('refuses an x- key below the top level', () => {
  expect(errorsOf({ yaml: 'zones: [1]\npoll: { x-a: 1 }\n' })).toMatchObject([{ path: 'poll.x-a' }])
})
