import { expect, test } from 'vitest'
import { basics, errorsOf, load, printed } from './loading.ts'

const places = `notify:
  - { name: ops, kind: slack, url: "https://hooks.example/token-of-ops" }
  - { name: pager, kind: pagerduty, routingKey: key-of-pager }
heartbeat: { url: "https://hc.example/ping/token-of-beat" }
`

test('places and the heartbeat are read, and their addresses are secrets', () => {
  const loaded = load({ yaml: basics + places })
  const [ops, pager] = loaded.config.notify
  expect([ops!.url.reveal(), pager!.url.reveal()]).toEqual([
    'https://hooks.example/token-of-ops',
    'https://events.pagerduty.com/v2/enqueue',
  ])
  expect(loaded.config.heartbeat).toMatchObject({ everyMinutes: 1 })
  expect(printed(loaded)).not.toMatch(/token-of|key-of/)
})

test.each([
  ['{ name: ops, kind: slack }', 'notify[0].url', 'is missing', 'set url or urlFile'],
  [
    '{ name: ops, kind: slack, url: hooks.example }',
    'notify[0].url',
    'is not a URL',
    'write one that begins with https://',
  ],
  [
    '{ name: ops, kind: pagerduty }',
    'notify[0].routingKey',
    'is missing',
    'set routingKey or routingKeyFile',
  ],
  [
    '{ name: ops, url: "https://x.example", routingKey: k }',
    'notify[0].routingKey',
    'is not used by json',
    'remove it',
  ],
  [
    '{ name: ops, url: "https://x.example" }, { name: ops, url: "https://y.example" }',
    'notify[1].name',
    'is the same as notify[0].name',
    'give each place a different name',
  ],
])('refuses %s', (place, path, problem, remedy) => {
  expect(errorsOf({ yaml: `${basics}notify: [${place}]\n` })).toMatchObject([{ path, problem, remedy }])
})

test.each([
  ['{ hosts: [] }', 'sinks[0].where.hosts'],
  ['{ hosts: ["https://shop.example"] }', 'sinks[0].where.hosts[0]'],
  ['{ paths: [login, /login, "*.php", "/login?x=1"] }', 'sinks[0].where.paths[0]', 'sinks[0].where.paths[3]'],
  ['{ addresses: [203.0.113.0/33] }', 'sinks[0].where.addresses[0]'],
  ['{ addresses: { not: [shop] } }', 'sinks[0].where.addresses.not[0]'],
  ['{ any: [{ path: [/x] }] }', 'sinks[0].where.any[0].path'],
])('refuses the filter %s', (where, ...paths) => {
  const errors = errorsOf({ yaml: `${basics}sinks: [{ type: stdout, where: ${where} }]\n` })
  expect(errors.map((error) => error.path)).toEqual(paths)
})
