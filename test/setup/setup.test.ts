import { execFile } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { startNode, startProcess } from './processes.ts'
import { projectFolder } from './project-folder.ts'
import { startRedis, useRedis } from './redis.ts'
import { redisAvailable, redisServerAvailable } from './redis-available.ts'
import { temporaryFolder } from './temp.ts'
import { waitFor } from './wait-for.ts'

const forEver = 'setInterval(() => {}, 1000); console.log("pid " + process.pid)'

describe('processes', () => {
  test('finds a line of stdout or stderr, and keeps all output', async () => {
    await using child = startNode(['-e', 'console.error("port 1234"); setInterval(() => {}, 1000)'])
    const [, port] = await child.waitForLine(/^port (\d+)$/)
    expect(port).toBe('1234')
    expect(child.isRunning()).toBe(true)
    expect(await child.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' })
    expect(child.isRunning()).toBe(false)
    expect(child.stderr()).toBe('port 1234\n')
  })

  test('counts the last line of a process that has ended, and fails without one', async () => {
    const child = startNode(['-e', 'process.stdout.write("done"); process.exitCode = 3'])
    expect(await child.exited).toEqual({ code: 3, signal: null })
    await child.waitForLine(/^done$/)
    await expect(child.waitForLine(/^never$/)).rejects.toThrow(/ended without \/\^never\$\/[^]*done/)
  })

  test('fails with the output so far if a line does not come', async () => {
    await using child = startNode(['-e', forEver])
    await child.waitForLine(/^pid/)
    await expect(child.waitForLine(/^never$/, 50)).rejects.toThrow(/gave up waiting for[^]*pid \d+/)
  })

  test('names a program that cannot be started', async () => {
    const child = startProcess('no-such-program', [])
    await expect(child.exited).rejects.toThrow(/ENOENT/)
    await expect(child.waitForLine(/x/)).rejects.toThrow(/no-such-program/)
  })
})

describe('waitFor', () => {
  test('returns the value once the condition holds', async () => {
    let asked = 0
    const value = await waitFor(() => (++asked < 3 ? undefined : 'there'), { what: 'it', everyMs: 1 })
    expect([value, asked]).toEqual(['there', 3])
  })

  test('keeps the last error as the cause', async () => {
    const failure = waitFor(() => Promise.reject(new Error('no file')), { what: 'a file', timeoutMs: 20 })
    await expect(failure).rejects.toMatchObject({
      message: 'gave up waiting for a file after 20 ms',
      cause: new Error('no file'),
    })
  })

  test('continues while a program makes progress or its next tick is not due', async () => {
    const asked: number[] = []
    const pace = () => {
      asked.push(performance.now())
      return {
        done: `${Math.min(asked.length, 3)} of 4`,
        dueAtMs: Date.now() + (asked.length === 1 ? 300 : 0),
      }
    }
    const failure = waitFor(() => false, { what: 'all', timeoutMs: 30, everyMs: 5, pace })
    await expect(failure).rejects.toThrow(
      /^gave up waiting for all after 30 ms without progress \(3 of 4; due /,
    )
    const [first, second, third, fourth] = asked
    expect([asked.length, second! - first! >= 330, third! - second! >= 30, fourth! - third! >= 30]).toEqual([
      4,
      true,
      true,
      true,
    ])
  })
})

interface Inner {
  readonly code: number
  readonly folder: string
  readonly output: string
  readonly lines: readonly string[]
}

/** Writes the given test file with a configuration of its own and this project's set-up. `here` stands for this folder. */
function prepareInner(source: string): string {
  const folder = temporaryFolder()
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const head = `import { afterAll, beforeAll, expect, test } from 'vitest'\n`
  writeFileSync(join(folder, 'inner.test.ts'), head + source.replaceAll('here/', `${import.meta.dirname}/`))
  writeFileSync(
    join(folder, 'vitest.config.ts'),
    `import { ClosingReporter } from '${import.meta.dirname}/reporter.ts'
     export default { test: { setupFiles: ['${import.meta.dirname}/clean-up.ts'], pool: 'forks',
       reporters: ['default', new ClosingReporter()], include: ['*.test.ts'], allowOnly: true } }`,
  )
  return folder
}

const vitest = join(projectFolder, 'node_modules/vitest/vitest.mjs')

async function runInner(source: string, env: Record<string, string | undefined> = {}): Promise<Inner> {
  const folder = prepareInner(source)
  return await new Promise((resolve) => {
    const options = {
      cwd: folder,
      env: { ...process.env, CI: '', NO_COLOR: '1', SHIELDLOG_TEST_TALLY: undefined, ...env },
    }
    execFile(process.execPath, [vitest, 'run', '--root', folder], options, (error, stdout, stderr) => {
      const output = stdout + stderr
      resolve({ folder, code: Number(error?.code ?? 0), output, lines: output.trimEnd().split('\n') })
    })
  })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('a run', () => {
  test('fails the test that left a process running, and kills that process', async () => {
    const inner = await runInner(`
      import { startNode } from 'here/processes.ts'
      let shared
      beforeAll(() => { shared = startNode(['-e', '${forEver}']) })
      test('leaves', async () => { console.log((await startNode(['-e', '${forEver}']).waitForLine(/pid.*/))[0]) })
      test('ends', async () => { await startNode(['-e', '${forEver}']).kill() })
      test('uses the shared one', async () => { expect(shared.isRunning()).toBe(true) })
      afterAll(() => shared.kill())`)
    expect(inner.code).toBe(1)
    expect(inner.output).toMatch(/left running \(now killed\):\s+\S*node.*end it in the test/)
    expect(inner.lines).toContain('2 passed, 1 failed, 0 skipped')
    expect(isAlive(Number(/^pid (\d+)$/m.exec(inner.output)?.[1]))).toBe(false)
  })

  test('kills the processes of a test worker that was killed', async () => {
    const inner = await runInner(
      `
      import { writeFileSync } from 'node:fs'
      import { startNode } from 'here/processes.ts'
      test('dies', async () => {
        const [line] = await startNode(['-e', '${forEver}']).waitForLine(/pid.*/)
        writeFileSync('pid.txt', line)
        process.kill(process.pid, 'SIGKILL')
      })`,
    )
    expect(inner.code).toBe(1)
    const pid = Number(readFileSync(join(inner.folder, 'pid.txt'), 'utf8').slice('pid '.length))
    expect(pid).toBeGreaterThan(1)
    await waitFor(() => !isAlive(pid), { what: `the end of process ${pid}` })
  })

  test('ends all processes that it started when it is killed', async () => {
    const folder = prepareInner(`
      import { writeFileSync } from 'node:fs'
      import { startNode } from 'here/processes.ts'
      test('hangs', async () => {
        const child = startNode(['-e', '${forEver}'])
        writeFileSync('pids.txt', process.pid + ' ' + child.pid + ' all')
        await child.exited
      })`)
    const run = startNode([vitest, 'run', '--root', folder], { cwd: folder })
    const written = await waitFor(
      () => /^(\d+) (\d+) all$/.exec(readFileSync(join(folder, 'pids.txt'), 'utf8')),
      { what: () => `the start of the inner run: ${run.stderr()}` },
    )
    await run.kill('SIGKILL')
    const alive = (): number[] => written.slice(1).map(Number).filter(isAlive)
    await waitFor(() => alive().length === 0, { what: () => `the end of ${alive().join(' and ')}` })
  })

  test('removes temporary folders, also of failed tests', async () => {
    const inner = await runInner(`
      import { temporaryFolder } from 'here/temp.ts'
      test('fails', () => { throw new Error('folder ' + temporaryFolder()) })`)
    const folder = /folder (\/\S+)/.exec(inner.output)?.[1] ?? ''
    expect(folder).toContain('shieldlog-test-')
    expect(existsSync(folder)).toBe(false)
  })

  test('lists skipped tests, and counts suites separately', async () => {
    const source = `test('one', () => {})\ntest.skip('two', () => {})\ntest.todo('three')
      test('four', ({ skip }) => skip('no moon'))\nafterAll(() => { throw new Error('x') })`
    const inner = await runInner(source)
    expect(inner.code).toBe(1)
    expect(inner.output).toContain('skipped: inner.test.ts (3 tests)')
    expect(inner.lines).toContain('1 passed, 1 failed, 3 skipped')
    const inCi = await runInner(source, { CI: 'true' })
    expect(inCi.lines).toContain('skipped: inner.test.ts > four: no moon')
  })

  test('counts a file that cannot be loaded as failed', async () => {
    const tally = join(temporaryFolder(), 'tally')
    const inner = await runInner(`import './missing.ts'`, { SHIELDLOG_TEST_TALLY: tally })
    expect(inner.code).toBe(1)
    expect(readFileSync(tally, 'utf8')).toBe('0 1 0\n')
    expect(inner.output).not.toMatch(/^\d+ passed, /m)
  })
})

describe.skipIf(!redisServerAvailable())('a separate Redis', () => {
  test('keeps acknowledged writes after a kill if it is append-only', async () => {
    const server = await startRedis({ appendOnly: true })
    const redis = new Redis(server.url, { retryStrategy: () => 20 })
    redis.on('error', () => {})
    await redis.set('a', 'b')
    await server.kill()
    expect(server.isRunning()).toBe(false)
    await server.restart()
    expect(await redis.get('a')).toBe('b')
    await server.stop()
    redis.disconnect()
  })

  test('two at once are separate', async () => {
    const servers = await Promise.all([startRedis(), startRedis()])
    expect(new Set(servers.map((server) => server.url)).size).toBe(2)
    expect(new Set(servers.map((server) => server.keyPrefix)).size).toBe(2)
  })

  test('can be frozen and resumed', async () => {
    const server = await startRedis()
    const redis = new Redis(server.url)
    await redis.set('a', '1')
    await server.pause()
    const answer = redis.get('a')
    let answered = false
    void answer.then(() => (answered = true))
    await expect(waitFor(() => answered, { what: 'no answer', timeoutMs: 100 })).rejects.toThrow('no answer')
    await server.resume()
    expect(await answer).toBe('1')
    redis.disconnect()
  })
})

test.skipIf(!redisAvailable())('a shared redis answers', async () => {
  const { url, keyPrefix } = await useRedis()
  const redis = new Redis(url)
  expect(await redis.set(`{${keyPrefix}}:x`, '1')).toBe('OK')
  redis.disconnect()
})
