import { expect, test } from 'vitest'
import { reloadEngine, type Reload, type Reloadable } from '../../../src/assemble/daemon/reload.ts'
import { load } from '../../config/loading.ts'

const oldOne = load({ yaml: 'api: { accessKey: k }\nzones: [101]\n' })
const newOne = load({ yaml: 'api: { accessKey: k }\nzones: [101, 102]\n' })

/** A reload of which each step can fail, and what came of it. */
async function reloaded(fails: Partial<Record<'load' | 'make' | 'close' | 'start new' | 'start old', true>>) {
  const steps: string[] = []
  const step = (name: keyof typeof fails | 'close new') => {
    steps.push(name)
    if (name !== 'close new' && fails[name]) throw new Error(`${name} failed`)
  }
  const old: Reloadable = { config: oldOne.config, close: async () => step('close') }
  const reload: Reload<Reloadable> = {
    load() {
      step('load')
      return newOne
    },
    makeEngine(config) {
      step('make')
      return { config, close: async () => step('close new') }
    },
    start: async ({ config }) => step(config.accounts[0]!.zones.length === 2 ? 'start new' : 'start old'),
    halted: (error) => void steps.push(`halted: ${String(error)}`),
    telemetry: { emit: ({ name }) => void steps.push(name) },
  }
  await reloadEngine(old, reload)
  return steps
}

test('closes the old engine, then starts the new one', async () => {
  expect(await reloaded({})).toEqual(['load', 'make', 'close', 'start new', 'ConfigReloaded'])
})

test('keeps the old engine if the new configuration is refused or no engine can be created from it', async () => {
  expect(await reloaded({ load: true })).toEqual(['load', 'ConfigRefused'])
  expect(await reloaded({ make: true })).toEqual(['load', 'make', 'ConfigRefused'])
})

test('continues although the old engine did not close', async () => {
  const steps = ['load', 'make', 'close', 'Warned', 'start new', 'ConfigReloaded']
  expect(await reloaded({ close: true })).toEqual(steps)
})

test('returns to the old configuration if the new one does not start', async () => {
  const steps = ['load', 'make', 'close', 'start new', 'ConfigRefused', 'close new', 'make', 'start old']
  expect(await reloaded({ 'start new': true })).toEqual(steps)
})

test('reports that nothing is shipped if the old configuration does not start either', async () => {
  const steps = await reloaded({ 'start new': true, 'start old': true })
  expect(steps.at(-1)).toBe('halted: Error: start old failed')
})
