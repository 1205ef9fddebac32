import { join } from 'node:path'
import { ask, installedAt, startServer, type IntakeServer } from '../intake.ts'

const basic = (user: string) => `Basic ${Buffer.from(user).toString('base64')}`
const authorization = basic('shieldlog:intake-password')

export const victoriaLogs: IntakeServer = {
  name: 'VictoriaLogs',
  dropsDuplicates: false,
  withoutRights: { 'a wrong password': { headers: { Authorization: basic('shieldlog:another') } } },
  async start() {
    const { url } = await startServer(
      (port, home) => ({
        command: join(installedAt('victorialogs'), 'victoria-logs'),
        args: [
          `-httpListenAddr=127.0.0.1:${port}`,
          `-storageDataPath=${home}`,
          '-loggerLevel=WARN',
          '-httpAuth.username=shieldlog',
          '-httpAuth.password=intake-password',
        ],
      }),
      async (address) => (await ask(`${address}/health`)).status === 200,
    )
    let tenants = 0
    return () => {
      const tenant = { AccountID: String(++tenants) }
      return {
        url,
        sinkAt: (to) => ({
          type: 'http',
          preset: 'ndjson',
          url: `${to}/insert/jsonline?_time_field=time&_msg_field=rule.message&_stream_fields=zone.id,action`,
          headers: { Authorization: authorization, ...tenant },
        }),
        stored: () => idsIn(url, tenant),
      }
    }
  },
}

async function idsIn(url: string, tenant: Record<string, string>): Promise<string[]> {
  const query = new URLSearchParams({ query: '* | fields id' })
  const { status, text } = await ask(`${url}/select/logsql/query?${query.toString()}`, {
    headers: { authorization, ...tenant },
  })
  if (status !== 200) throw new Error(`VictoriaLogs answered ${status}: ${text}`)
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { id: string }).id)
}
