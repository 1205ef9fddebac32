import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'
import { own } from './leftovers.ts'
import { startProcess, type TestProcess } from './processes.ts'
import { redisServerAvailable, sharedUrl } from './available.ts'

export { redisAvailable, redisServerAvailable } from './available.ts'

export interface RedisOptions {
  /** Keeps every acknowledged write on disk (`appendfsync always`), so that `kill` and `restart` lose nothing. Default false. */
  readonly appendOnly?: boolean
  /** More arguments of `redis-server`, such as `['--maxmemory', '3mb']`. */
  readonly args?: readonly string[]
}

/** A server that this test run may use as it likes, as long as its keys begin with `keyPrefix`. */
export interface TestRedis {
  /** Without a database number: database 0. */
  readonly url: string
  /** Unlike that of any other suite; of a shared server its keys are removed at the end. Holds no colon or brace. */
  readonly keyPrefix: string
}

/** A server process of its own. It is ended, without a word, when the test or file that started it ends. */
export interface TestRedisServer extends TestRedis {
  readonly port: number
  readonly folder: string
  /** SIGTERM, as an operator would. Quiet when it is not running. */
  stop(): Promise<void>
  /** SIGKILL. Quiet when it is not running. */
  kill(): Promise<void>
  /** Starts it again on the same port and folder, having stopped it if need be; resolves when it takes commands. */
  restart(): Promise<void>
  /** Holds it still without closing its connections (SIGSTOP), until `resume`. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/** The server named by SHIELDLOG_TEST_REDIS_URL, else one of its own. For suites that neither kill nor configure it. */
export async function useRedis(options: RedisOptions = {}): Promise<TestRedis> {
  const url = sharedUrl()
  if (url === undefined) return await startRedis(options)
  const keyPrefix = newKeyPrefix()
  own({
    what: `keys of ${keyPrefix}`,
    isLeft: () => true,
    remove: () => removeKeys(url, keyPrefix),
    isFault: false,
  })
  return { url, keyPrefix }
}

/** Starts `redis-server` from PATH on a free loopback port with a folder of its own; resolves when it takes commands. */
export async function startRedis(options: RedisOptions = {}): Promise<TestRedisServer> {
  if (!redisServerAvailable()) throw new Error('no redis-server on PATH')
  const folder = mkdtempSync(join(tmpdir(), 'shieldlog-redis-'))
  const host = '127.0.0.1'
  let server: TestProcess | undefined
  own({
    what: `redis-server in ${folder}`,
    isLeft: () => true,
    remove: async () => {
      await server?.kill()
      rmSync(folder, { recursive: true, force: true })
    },
    isFault: false,
  })

  const startOn = async (port: number): Promise<void> => {
    server = startProcess('redis-server', argumentsOf(port, folder, options), { mustEnd: false })
    await server.waitForLine(/Ready to accept connections/)
  }
  let port = 0
  for (let tries = 1; ; tries++) {
    port = await freePort()
    try {
      await startOn(port)
      break
    } catch (error) {
      // Another process may have taken the port in between, or one that a node of a cluster derives from it.
      const taken = /Address already in use|port number too high/.test(server?.stdout() ?? '')
      if (!taken || tries === 5) throw error
    }
  }

  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    await server?.kill('SIGCONT')
    await server?.kill(signal)
  }
  return {
    url: `redis://${host}:${port}`,
    keyPrefix: newKeyPrefix(),
    port,
    folder,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async restart() {
      await end('SIGTERM')
      await startOn(port)
    },
    pause: async () => void (await server?.kill('SIGSTOP')),
    resume: async () => void (await server?.kill('SIGCONT')),
  }
}

function argumentsOf(port: number, folder: string, options: RedisOptions): string[] {
  const durable = options.appendOnly === true ? ['--appendonly', 'yes', '--appendfsync', 'always'] : []
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  return [...place, '--save', '', '--daemonize', 'no', ...durable, ...(options.args ?? [])]
}

function newKeyPrefix(): string {
  return `shieldlog-test-${randomBytes(6).toString('hex')}`
}

async function removeKeys(url: string, keyPrefix: string): Promise<void> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1, lazyConnect: true })
  redis.on('error', () => {}) // The command that follows rejects with it.
  try {
    for await (const keys of redis.scanStream({ match: `*${keyPrefix}*`, count: 1000 })) {
      const found = keys as string[]
      if (found.length > 0) await redis.del(...found)
    }
  } finally {
    redis.disconnect()
  }
}
