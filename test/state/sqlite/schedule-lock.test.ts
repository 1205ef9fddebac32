import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createScheduleLock, readHolder } from '../../../src/state/sqlite/schedule-lock.ts'
import { createFakeClock } from '../../fakes/fake-clock.ts'
import { startNode } from '../../setup/processes.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { temporaryFolder } from '../../setup/temp.ts'

const clock = createFakeClock(Date.parse('2026-11-20T12:00:00.000Z'))
const lockAt = (path: string) => createScheduleLock(path, clock)

/** Takes the lock, says what came of it, and stays until its input ends. */
const script = `
  const { createScheduleLock } = await import(${JSON.stringify(`${projectFolder}src/state/sqlite/schedule-lock.ts`)})
  const lock = createScheduleLock(process.argv[1], { now: () => Date.now() })
  console.log('got ' + (await lock.acquire()))
  globalThis.gc?.()
  setInterval(() => globalThis.gc?.(), 5)`
const startHolder = (path: string) => startNode(['--expose-gc', '--input-type=module', '-e', script, path])

describe('the schedule lock', () => {
  it('has one owner, and names it to the others', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'var', 'store.db')
    const [one, two] = [lockAt(path), lockAt(path)]
    expect(await one.holder()).toBeUndefined()
    expect(readdirSync(folder)).toEqual([])
    expect(await one.acquire()).toBeUndefined()
    expect(await one.acquire()).toBeUndefined()
    const holder = `process ${process.pid} on host ${hostname()}, since 2026-11-20T12:00:00.000Z`
    expect(await two.acquire()).toBe(holder)
    expect(await two.holder()).toBe(holder)
    expect(await one.holder()).toBe(holder)
    const startedAt = '2026-11-20T12:00:00.000Z'
    expect(readHolder(holder)).toEqual({ pid: process.pid, host: hostname(), startedAt })
    expect(readHolder('an unnamed process')).toBeUndefined()
    await one.release()
    await one.release()
    expect(await two.holder()).toBeUndefined()
    expect(await two.acquire()).toBeUndefined()
    await two.release()
  })

  it('ends with its process, however that ends, and not before', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const mine = lockAt(path)
    for (let kill = 0; kill < 3; kill++) {
      const child = startHolder(path)
      await child.waitForLine(/^got undefined/)
      expect(await mine.acquire()).toContain(`process ${child.pid} on host`)
      expect(await mine.holder()).toContain(`process ${child.pid} on host`)
      await child.kill('SIGKILL')
      expect(await mine.holder()).toBeUndefined()
      expect(await mine.acquire()).toBeUndefined()
      await mine.release()
    }
  })

  it('goes to one of many that start at once', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const children = [1, 2, 3, 4].map(() => startHolder(path))
    const said = await Promise.all(children.map((child) => child.waitForLine(/^got (.*)/)))
    expect(said.filter(([, answer]) => answer === 'undefined')).toHaveLength(1)
    for (const child of children) await child.kill()
  })

  it('is not affected by others that read its holder', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const [one, two] = [lockAt(path), lockAt(path)]
    for (let turn = 0; turn < 50; turn++) {
      const [answer] = await Promise.all([one.acquire(), two.holder()])
      expect(answer).toBeUndefined()
      expect(await two.holder()).toBeDefined()
      await one.release()
    }
  })

  it('is the same by a link to the store', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'store.db'), '')
    symlinkSync(join(folder, 'store.db'), join(folder, 'link.db'))
    const [one, two] = [lockAt(join(folder, 'store.db')), lockAt(join(folder, 'link.db'))]
    await one.acquire()
    expect(await two.acquire()).toContain('process ')
    await one.release()
  })
})
