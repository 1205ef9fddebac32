import { execFileSync } from 'node:child_process'
import { freePort } from '../setup/free-port.ts'
import { startCli, startProcess } from '../setup/processes.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { readComposeFile, unescaped, type Service } from './compose-file.ts'

const { services } = readComposeFile()

function serviceCalled(name: string): Service {
  const service = services[name]
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`)
  return service
}

/** What the container of a Redis would run, on a port and `volume` of the test's, with its secret in `secretFile`. */
export async function startRedisService(name: string, secretFile: string, volume = temporaryFolder()) {
  const { command = [], healthcheck } = serviceCalled(name)
  const port = await freePort()
  const here = (text: string) =>
    unescaped(text)
      .replaceAll('/run/secrets/redis-password', secretFile)
      .replace('dir /data', `dir /data\nport ${port}\nbind 127.0.0.1`)
      .replaceAll('/data', volume)
      .replace('redis-cli', `redis-cli -p ${port}`)
  const [shell = '', ...args] = command.map(here)
  const [kind, script = ''] = healthcheck?.test ?? []
  if (kind !== 'CMD-SHELL') throw new Error(`the health check of ${name} is no CMD-SHELL`)
  return {
    port,
    process: startProcess(shell, args, { mustEnd: false }),
    /** Runs the health check of the service. */
    check: async () => (await startProcess('sh', ['-c', here(script)]).exited).code,
    /** Runs a command that is meant for a container of the service; returns its output. */
    run: (command: string, input?: Buffer) => execFileSync('sh', ['-c', here(command)], { input }),
  }
}

/** Runs the health check of the simulator's service against one of this host. */
export async function checkSimulator(url: string): Promise<number | null> {
  const { environment, healthcheck } = serviceCalled('simulator')
  const [kind, command, ...args] = healthcheck?.test ?? []
  if (kind !== 'CMD' || command !== 'shieldlog') throw new Error('the health check does not call shieldlog')
  if (environment?.['SHIELDLOG_SERVER_PORT'] !== '8090') throw new Error('the health check asks another port')
  return (await startCli(args, { env: { SHIELDLOG_SERVER_PORT: new URL(url).port } }).exited).code
}

/** The profile demo as processes of this host: the same commands and settings, other addresses and folders. */
export async function startDemo() {
  const redis = await startRedisService('demo-redis', '/nowhere/redis-password')
  await redis.process.waitForLine(/Ready to accept connections/)
  const { command: simulate = [] } = serviceCalled('simulator')
  const simulator = startCli(simulate.map((word) => (word === '8090' ? '0' : word)))
  const [, url = ''] = await simulator.waitForLine(/^simulator listens at (\S+)$/)
  const volume = temporaryFolder()
  const start = (name: string) => {
    const { command = [], environment = {} } = serviceCalled(name)
    const settings = Object.entries(environment).map(([key, value]) => [
      key,
      value
        .replace('http://simulator:8090', url)
        .replace('demo-redis:6379', `127.0.0.1:${redis.port}`)
        .replaceAll('/var/lib/shieldlog', volume),
    ])
    const env = Object.fromEntries(settings) as Record<string, string>
    return startCli(command, { cwd: volume, env: { ...env, SHIELDLOG_SERVER_PORT: '0' } })
  }
  const [scheduler, worker] = [start('demo-scheduler'), start('demo-worker')]
  const processes = { simulator, scheduler, worker, otherWorker: start('demo-worker') }
  return {
    simulatorUrl: url,
    processes,
    /** What the volume of the workers holds. */
    volume,
    /** Stops all but Redis, as the engine would; resolves with what each exited with. */
    async stop() {
      const ended = await Promise.all(
        [scheduler, worker, processes.otherWorker, simulator].map((each) => each.kill('SIGTERM')),
      )
      return ended.map((exit) => exit?.code ?? null)
    },
  }
}
