import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../src/config/load.ts'
import { fileShape } from '../src/config/file-shape.ts'
import { settingsOf } from '../src/config/shape.ts'
import { composePath, networksOf, placesOf, readComposeFile, type Service } from './compose/compose-file.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'

const file = readComposeFile()
const { services } = file
const all = Object.entries(services)
const ours = all.filter(([, { image }]) => image === 'shieldlog')

function inProfile(profile: string): Record<string, Service> {
  return Object.fromEntries(all.filter(([, { profiles = [] }]) => profiles.includes(profile)))
}

test('everything that is referenced exists, and everything that exists is referenced', () => {
  const used = { networks: new Set<string>(), volumes: new Set<string>(), grants: new Set<string>() }
  for (const [name, service] of all) {
    for (const network of networksOf(service).keys()) used.networks.add(network)
    for (const volume of service.volumes ?? []) used.volumes.add(volume.split(':')[0]!)
    for (const { source } of placesOf(service.secrets)) used.grants.add(`secret ${source}`)
    for (const { source } of placesOf(service.configs)) used.grants.add(`config ${source}`)
    for (const needed of Object.keys(service.depends_on ?? {})) {
      // One that is in no profile of the other's would be refused, or never be healthy.
      expect(services[needed]?.profiles, `${name} waits for ${needed}`).toEqual(
        expect.arrayContaining([...(service.profiles ?? ['none'])]),
      )
      expect(services[needed]?.healthcheck, `${needed} is waited for`).toBeDefined()
    }
  }
  expect([...used.networks].toSorted()).toEqual(Object.keys(file.networks).toSorted())
  expect([...used.volumes].toSorted()).toEqual(Object.keys(file.volumes).toSorted())
  const granted = [
    ...Object.keys(file.secrets).map((each) => `secret ${each}`),
    ...Object.keys(file.configs).map((each) => `config ${each}`),
  ]
  expect([...used.grants].toSorted()).toEqual(granted.toSorted())
})

test('nothing in it depends on the environment of the caller', () => {
  const text = readFileSync(composePath, 'utf8').replaceAll('$$', '')
  expect(text).not.toContain('$')
})

test('each profile is a complete system', () => {
  expect(Object.keys(inProfile('single')).toSorted()).toEqual(['prometheus', 'shieldlog'])
  expect(Object.keys(inProfile('ship')).toSorted()).toEqual(['prometheus', 'redis', 'scheduler', 'worker'])
  expect(Object.keys(inProfile('demo')).toSorted()).toEqual(
    ['demo-redis', 'demo-scheduler', 'demo-worker', 'prometheus', 'simulator'].toSorted(),
  )
  expect(all.filter(([, { profiles = [] }]) => profiles.length === 0)).toEqual([])
})

test.each(all)('%s has only the rights that it needs', (_name, service) => {
  expect(service).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    mem_limit: expect.stringMatching(/^\d+m$/),
    logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
  })
  expect(service.image).not.toMatch(/:latest$/)
  for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
})

test.each(ours)('%s has one writable place, and time to stop', (name, service) => {
  expect(service.build).toBe('.')
  expect(service.stop_grace_period).toBe('15s')
  const places = [...(service.volumes ?? []), ...(service.tmpfs ?? [])]
  expect(places).toEqual([expect.stringMatching(/^([\w-]+:)?\/var\/lib\/shieldlog(:|$)/)])
  // Without a name or port of its own there can be any number.
  if (name.endsWith('worker')) expect(service).not.toHaveProperty('ports')
  expect(service).not.toHaveProperty('container_name')
})

describe('for an account', () => {
  const profile = inProfile('ship')

  test('no secret is in the file, in an image or in git', () => {
    for (const [, { environment = {} }] of Object.entries(profile))
      for (const [key, value] of Object.entries(environment))
        if (/KEY|PASSWORD|TOKEN|SECRET/.test(key))
          expect([key, value]).toEqual([
            expect.stringMatching(/_FILE$/),
            expect.stringMatching(/^\/run\/secrets\//),
          ])
    for (const { file: path } of Object.values(file.secrets)) expect(path).toMatch(/^\.\/var\//)
    expect(readFileSync(join(projectFolder, '.gitignore'), 'utf8')).toMatch(/^var\/$/m)
    const ignored = readFileSync(join(projectFolder, '.dockerignore'), 'utf8')
    expect(ignored).toMatch(/^\*$/m)
    expect(ignored).not.toMatch(/^!var/m)
  })

  test('Redis is reached by scheduler and workers only', () => {
    const reached = all.filter(([, service]) => networksOf(service).has('store')).map(([name]) => name)
    expect(reached.toSorted()).toEqual(['redis', 'scheduler', 'worker'])
    expect(file.networks['store']?.internal).toBe(true)
    expect([...networksOf(services['redis']!).keys()]).toEqual(['store'])
  })

  test.each(['scheduler', 'worker'])('%s uses the example as its settings', (name) => {
    const service = profile[name]!
    const [settings] = placesOf(service.configs)
    expect(settings?.target).toBe('/etc/shieldlog/shieldlog.yaml')
    const { config, warnings } = loadConfig({
      argv: { config: join(projectFolder, 'config/examples/redis.yaml') },
      env: withSecretsIn(temporaryFolder(), service),
    })
    expect(warnings).toEqual([])
    expect(config.state).toMatchObject({
      kind: 'redis',
      topology: 'single',
      nodes: [{ host: 'redis', port: 6379 }],
    })
    expect(config.state.kind === 'redis' && config.state.password?.reveal()).toBe('content of redis-password')
    expect(config.accounts[0]?.accessKey.reveal()).toBe('content of access-key')
    for (const sink of config.sinks) expect(sink).toMatchObject({ path: '/var/lib/shieldlog/events' })
  })
})

describe('the demo', () => {
  const profile = inProfile('demo')

  test('needs no file that is not in the checkout', () => {
    for (const service of Object.values(profile)) {
      expect(service.secrets).toBeUndefined()
      for (const { source } of placesOf(service.configs))
        expect(existsSync(join(projectFolder, file.configs[source]!.file)), source).toBe(true)
    }
  })

  test('cannot reach an account', () => {
    expect(file.networks['demo']?.internal).toBe(true)
    for (const [name, service] of Object.entries(profile))
      if (name !== 'prometheus') expect([...networksOf(service).keys()]).toEqual(['demo'])
    const shared = Object.values(profile).flatMap(({ volumes = [] }) =>
      volumes.map((each) => each.split(':')[0]),
    )
    const real = Object.values(inProfile('ship')).flatMap(({ volumes = [] }) =>
      volumes.map((each) => each.split(':')[0]),
    )
    expect(shared.filter((volume) => real.includes(volume))).toEqual(['prometheus'])
  })

  test.each(['demo-scheduler', 'demo-worker'])('%s reads the simulator', (name) => {
    const { environment = {} } = profile[name]!
    const { config, warnings } = loadConfig({ env: environment, cwd: temporaryFolder() })
    // Its key is none, so that it may go unencrypted from one container to the other.
    expect(warnings).toEqual([
      expect.stringContaining('api.baseUrl: shieldlog sends the access key to simulator unencrypted'),
    ])
    const url = new URL(config.api.baseUrl)
    const { command = [] } = services[url.hostname] ?? {}
    const option = (flag: string) => command[command.indexOf(flag) + 1]
    expect(option('--port')).toBe(url.port)
    expect(option('--host')).toBe('0.0.0.0')
    expect(option('--zones')).toBe(config.accounts[0]?.zones.map(({ id }) => id).join(','))
    expect(config.state).toMatchObject({ kind: 'redis', nodes: [{ host: 'demo-redis', port: 6379 }] })
    expect(config.sinks).toMatchObject([{ type: 'file', path: '/var/lib/shieldlog/events' }])
  })
})

test('every setting in it exists', () => {
  const known = new Set(settingsOf(fileShape).map(({ environment }) => environment))
  const given = ours.flatMap(([, { environment = {} }]) => Object.keys(environment))
  expect(given.filter((name) => name.startsWith('SHIELDLOG_') && !known.has(name))).toEqual([])
})

/** The environment of a service, its secrets in a folder of the test's. */
function withSecretsIn(folder: string, service: Service): Record<string, string> {
  const places = placesOf(service.secrets)
  for (const { source } of places) writeFileSync(join(folder, source), `content of ${source}\n`)
  return Object.fromEntries(
    Object.entries(service.environment ?? {}).map(([key, value]) => {
      const place = places.find(({ target }) => target === value)
      return [key, place === undefined ? value : join(folder, place.source)]
    }),
  )
}
