import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesBelow } from './canaries.ts'
import { answerOf, everythingFailed, leakWorld } from './leak-world.ts'

test('no secret of the configuration appears anywhere, whatever fails', async () => {
  const { canaries, place, env, token, collector, secretFiles, configure, arrived } = await leakWorld()
  const junk = canaries.make('junk', true)
  const places = new Map<string, string | Buffer>()
  const child = place.start(['run'], { env })
  const [, address = ''] = await child.waitForLine(/(http:\/\/127\.0\.0\.1:\d+)/)
  await everythingFailed(address, token, child.stderr)
  for (const path of ['/metrics', '/status', '/readyz', '/healthz', '/'])
    places.set(path, await answerOf(address, path, token))
  places.set('/status for nobody', await answerOf(address, '/status', canaries.make('wrong token', true)))

  const commands = [
    ['status', '--json'],
    ['status'],
    ['dead-letters', 'list', '--json'],
    ['config', 'print'],
    ['check'],
    ['fetch', '--zone', '101', '--day', 'today', '--limit', '1'],
    ['fetch', '--zone', '102', '--day', 'today'],
  ]
  const run = async (
    command: readonly string[],
    name = command.join(' '),
    more: Readonly<Record<string, string>> = {},
  ) => {
    const { stdout, stderr } = await place.ended(command, { env: { ...env, JUNK: junk, ...more } })
    expect(`${stdout}${stderr}`, name).not.toBe('')
    places.set(name, `${stdout}\n${stderr}`)
  }
  const proxies = [`http://user:${junk}@[no-address`, `user:${junk}@proxy:3128`]
  await Promise.all([
    ...commands.map((command) => run(command)),
    ...proxies.map((proxy, index) => run(['check'], `junk proxy ${index}`, { HTTP_PROXY: proxy })),
  ])
  expect((await child.kill('SIGTERM'))?.code).toBe(0)
  places.set('stdout', child.stdout()).set('stderr', child.stderr())

  // What a person may write in the wrong place.
  configure({
    server: { port: '${JUNK}', token: [junk] },
    poll: { everySeconds: '${JUNK}' },
    api: { baseUrl: `http://user:${junk}@127.0.0.1`, accessKey: { key: junk } },
    state: `redis://user:${junk}@h/x`,
    log: { level: '${JUNK}' },
  })
  await run(['run'], 'junk')
  writeFileSync(place.configFile, `api: { accessKey: "${junk}\n sinks: [`)
  await run(['check'], 'junk that is no YAML')

  collector.texts.forEach((text, index) => {
    if (index % 2 === 1) places.set(`spans ${index}`, text)
  })
  for (const [path, bytes] of filesBelow(place.folder, secretFiles)) places.set(path, bytes)
  const names = [...places.keys()]
  expect(names.some((name) => name.endsWith('state.db'))).toBe(true)
  expect(names.some((name) => name.endsWith('.ndjson'))).toBe(true)
  expect(names.some((name) => name.startsWith('spans'))).toBe(true)
  for (const [secret, heard] of arrived()) expect(heard.includes(secret), secret).toBe(true)
  expect(canaries.leaks(places)).toEqual([])
  expect(canaries.leaks(new Map([['a proof', join('x', junk)]]))).toHaveLength(1)
})
