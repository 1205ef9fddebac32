import { join } from 'node:path'
import {
  ask,
  installedAt,
  startServer,
  takesConnections,
  type IntakeServer,
  type SinkSettings,
} from '../intake.ts'
import type { Row } from '../shown.ts'

const basic = (user: string) => `Basic ${Buffer.from(user).toString('base64')}`
const authorization = basic('shieldlog:intake-password')

export const victoriaLogs: IntakeServer = {
  name: 'VictoriaLogs',
  dropsDuplicates: false,
  withoutRights: { 'a wrong password': { headers: { Authorization: basic('shieldlog:another') } } },
  async start() {
    const { url } = await startVictoriaLogs([
      '-httpAuth.username=shieldlog',
      '-httpAuth.password=intake-password',
    ])
    return () => {
      const headers = { Authorization: authorization, ...newTenant() }
      return {
        url,
        sinkAt: (to) => ({ ...lines, url: `${to}${linesPath}`, headers }),
        stored: async () => (await rowsIn(url, headers, '* | fields id')).map(({ id }) => id!),
      }
    }
  },
}

export const linesPath =
  '/insert/jsonline?_time_field=time&_msg_field=rule.message&_stream_fields=zone.id,action'
const lines: SinkSettings = { type: 'http', preset: 'ndjson' }

/** With every event kept, however old; syslog is taken on the second port. */
export async function startVictoriaLogs(args: readonly string[] = []) {
  let syslogPort = 0
  const { url } = await startServer(
    (port, home, otherPort) => {
      syslogPort = otherPort
      const own = [`-httpListenAddr=127.0.0.1:${port}`, `-storageDataPath=${home}`, '-loggerLevel=WARN']
      const kept = ['-retentionPeriod=100y', `-syslog.listenAddr.tcp=127.0.0.1:${otherPort}`]
      return { command: join(installedAt('victorialogs'), 'victoria-logs'), args: [...own, ...kept, ...args] }
    },
    async (address) =>
      (await ask(`${address}/health`)).status === 200 &&
      (await takesConnections(`tcp://127.0.0.1:${syslogPort}`)),
  )
  return { url, syslogPort }
}

let tenants = 0
/** Headers of a part of the server that no other test uses. Syslog goes to tenant 0. */
export const newTenant = (): Record<string, string> => ({ AccountID: String(++tenants) })

/** What a query returns. */
export async function rowsIn(url: string, headers: Record<string, string>, query: string): Promise<Row[]> {
  const parameters = new URLSearchParams({ query })
  const { status, text } = await ask(`${url}/select/logsql/query?${parameters.toString()}`, { headers })
  if (status !== 200) throw new Error(`VictoriaLogs answered ${status}: ${text}`)
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Row)
}
