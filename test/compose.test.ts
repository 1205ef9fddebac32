import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../src/config/load.ts'
import { fileShape } from '../src/config/file-shape.ts'
import { settingsOf } from '../src/config/environment.ts'
import { composePath, networksOf, placesOf, readComposeFile, type Service } from './compose/compose-file.ts'
import { commandIn, pages } from './docs/pages.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'

const file = readComposeFile()
const { services } = file
const all = Object.entries(services)
const ours = all.filter(([, { image }]) => image === 'shieldlog')
const inProfile = (profile: string) => all.filter(([, { profiles = [] }]) => profiles.includes(profile))
const volumesOf = ({ volumes = [] }: Service) => volumes.map((volume) => volume.split(':')[0]!)
const sorted = (names: Iterable<string>) => [...new Set(names)].toSorted()

test('everything that is referenced exists, and everything that exists is referenced', () => {
  const used = (namesOf: (service: Service) => Iterable<string>) =>
    sorted(all.flatMap(([, service]) => [...namesOf(service)]))
  const granted = (key: 'secrets' | 'configs') => (service: Service) =>
    placesOf(service[key]).map(({ source }) => source)
  expect(used((service) => networksOf(service).keys())).toEqual(sorted(Object.keys(file.networks)))
  expect(used(volumesOf)).toEqual(sorted(Object.keys(file.volumes)))
  expect(used(granted('secrets'))).toEqual(sorted(Object.keys(file.secrets)))
  expect(used(granted('configs'))).toEqual(sorted(Object.keys(file.configs)))
  for (const [name, { depends_on = {}, profiles = ['none'] }] of all)
    for (const needed of Object.keys(depends_on)) {
      // One that is in no profile of the other's would be refused, or never be healthy.
      expect(services[needed]?.profiles, `${name} waits for ${needed}`).toEqual(
        expect.arrayContaining([...profiles]),
      )
      expect(services[needed]?.healthcheck, `${needed} is waited for`).toBeDefined()
    }
  const known = settingsOf(fileShape).map(({ environment }) => environment)
  const given = ours.flatMap(([, { environment = {} }]) => Object.keys(environment))
  expect(given.filter((name) => name.startsWith('SHIELDLOG_') && !known.includes(name))).toEqual([])
})

test('nothing in it depends on the environment of the caller', () => {
  expect(readFileSync(composePath, 'utf8').replaceAll('$$', '')).not.toContain('$')
})

test('each profile is a complete system', () => {
  expect(
    ['single', 'ship', 'demo'].map((profile) => sorted(inProfile(profile).map(([name]) => name)).join(' ')),
  ).toEqual([
    'prometheus shieldlog',
    'prometheus redis scheduler worker',
    'demo-redis demo-scheduler demo-worker prometheus simulator',
  ])
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
  expect([service.build, service.stop_grace_period]).toEqual(['.', '15s'])
  const places = [...(service.volumes ?? []), ...(service.tmpfs ?? [])]
  expect(places).toEqual([expect.stringMatching(/^([\w-]+:)?\/var\/lib\/shieldlog(:|$)/)])
  // Without a name or port of its own there can be any number.
  if (name.endsWith('worker')) expect(service).not.toHaveProperty('ports')
  expect(service).not.toHaveProperty('container_name')
})

test.each(['ship', 'demo'])(
  'in %s a command finds the files in each container that has its settings',
  (profile) => {
    const roles = inProfile(profile).filter(([, { command = [] }]) => command.includes('--role'))
    const volumes = new Set(roles.map(([, service]) => volumesOf(service).join()))
    expect([roles.length, volumes.size, [...volumes][0]]).toEqual([2, 1, expect.stringMatching(/events$/)])
  },
)

test('the pages name services of the profile, and each `up` of several workers their number', () => {
  const lines = pages.flatMap(({ text }) => text.match(/\bdocker compose --profile [^`\n]*/g) ?? [])
  expect(lines.length).toBeGreaterThan(10)
  for (const line of lines) {
    const [, profile = '', verb = '', rest = ''] = /--profile (\w+) (\w+) ?(.*)$/.exec(line) ?? []
    const names = inProfile(profile).map(([name]) => name)
    const words = rest.replace(/ (-c '|<|>).*$/, '').split(' ')
    const named = words.map((word) => word.replace(/:.*$/, '')).filter((word) => names.includes(word))
    if (['exec', 'cp', 'run'].includes(verb)) expect(named, line).not.toEqual([])
    if (profile === 'ship' && verb === 'up') expect(line).toMatch(/ --scale worker=\d/)
  }
})

test.each([
  ['docker run', '--entrypoint sh shieldlog', 'var/shieldlog.db'],
  ['Compose', '--no-deps --entrypoint sh shieldlog', 'shieldlog.db'],
  ['Kubernetes', 'exec -i restore -- sh', 'shieldlog.db'],
])('a state is restored by the command of the page, also into a new volume: %s', (_, words, name) => {
  const volume = temporaryFolder()
  const command = commandIn('docs/install.md', words).replaceAll('/var/lib/shieldlog', volume)
  const restore = () => execFileSync('sh', ['-c', command], { input: 'a copy' })
  const state = join(volume, name)
  restore()
  for (const end of ['', '-wal', '-shm', '.lock']) writeFileSync(`${state}${end}`, 'lost')
  restore()
  expect(readdirSync(dirname(state))).toEqual(['shieldlog.db'])
  expect([readFileSync(state, 'utf8'), statSync(state).mode & 0o777]).toEqual(['a copy', 0o600])
})

describe('for an account', () => {
  test('no secret is in the file, in an image or in git', () => {
    for (const [, { environment = {} }] of inProfile('ship'))
      for (const [key, value] of Object.entries(environment))
        if (/KEY|PASSWORD|TOKEN|SECRET/.test(key))
          expect(`${key} ${value}`).toMatch(/^\S+_FILE \/run\/secrets\//)
    for (const { file: path } of Object.values(file.secrets)) expect(path).toMatch(/^\.\/var\//)
    expect(readFileSync(join(projectFolder, '.gitignore'), 'utf8')).toMatch(/^var\/$/m)
    expect(readFileSync(join(projectFolder, '.dockerignore'), 'utf8')).toMatch(/^\*$(?![^]*^!var)/m)
  })

  test('Redis is reached by scheduler and workers only', () => {
    const reached = all.filter(([, service]) => networksOf(service).has('store')).map(([name]) => name)
    expect(reached.toSorted()).toEqual(['redis', 'scheduler', 'worker'])
    expect(file.networks['store']?.internal).toBe(true)
    expect([...networksOf(services['redis']!).keys()]).toEqual(['store'])
  })

  test.each(['scheduler', 'worker'])('%s uses the example as its settings', (name) => {
    const { configs, secrets, environment = {} } = services[name]!
    expect(placesOf(configs)[0]?.target).toBe('/etc/shieldlog/shieldlog.yaml')
    const folder = temporaryFolder()
    const places = placesOf(secrets)
    for (const { source } of places) writeFileSync(join(folder, source), `content of ${source}\n`)
    const here = Object.entries(environment).map(([key, value]) => {
      const place = places.find(({ target }) => target === value)
      return [key, place === undefined ? value : join(folder, place.source)]
    })
    const { config, warnings } = loadConfig({
      argv: { config: join(projectFolder, 'config/examples/redis.yaml') },
      env: Object.fromEntries(here) as Record<string, string>,
    })
    // Which stays within the network of these services.
    expect(warnings).toEqual([expect.stringMatching(/^state: .* the password of Redis to redis unencrypted/)])
    const nodes = [{ host: 'redis', port: 6379 }]
    expect(config.state).toMatchObject({ kind: 'redis', topology: 'single', nodes })
    expect(config.state.kind === 'redis' && config.state.password?.reveal()).toBe('content of redis-password')
    expect(config.accounts[0]?.accessKey.reveal()).toBe('content of access-key')
    for (const sink of config.sinks) expect(sink).toMatchObject({ path: '/var/lib/shieldlog/events' })
  })
})

describe('the demo', () => {
  test('needs no file that is not in the checkout', () => {
    for (const [, { secrets, configs }] of inProfile('demo')) {
      expect(secrets).toBeUndefined()
      for (const { source } of placesOf(configs))
        expect(existsSync(join(projectFolder, file.configs[source]!.file)), source).toBe(true)
    }
  })

  test('cannot reach an account', () => {
    expect(file.networks['demo']?.internal).toBe(true)
    for (const [name, service] of inProfile('demo'))
      if (name !== 'prometheus') expect([...networksOf(service).keys()]).toEqual(['demo'])
    const [own, real] = ['demo', 'ship'].map((profile) =>
      inProfile(profile).flatMap(([, service]) => volumesOf(service)),
    )
    expect(own!.filter((volume) => real!.includes(volume))).toEqual(['prometheus'])
  })

  test.each(['demo-scheduler', 'demo-worker'])('%s reads the simulator', (name) => {
    const { config, warnings } = loadConfig({
      env: services[name]!.environment ?? {},
      cwd: temporaryFolder(),
    })
    // Its key is none, so that it may go unencrypted from one container to the other.
    expect(warnings).toEqual([
      expect.stringContaining('api.baseUrl: shieldlog sends the access key to simulator unencrypted'),
    ])
    const url = new URL(config.api.baseUrl)
    const zones = config.accounts[0]?.zones.map(({ id }) => id).join(',')
    const command = services[url.hostname]?.command?.join(' ')
    for (const option of [`--port ${url.port}`, '--host 0.0.0.0', `--zones ${zones}`])
      expect(command).toContain(option)
    expect(config.state).toMatchObject({ kind: 'redis', nodes: [{ host: 'demo-redis', port: 6379 }] })
    expect(config.sinks).toMatchObject([{ type: 'file', path: '/var/lib/shieldlog/events' }])
  })
})
