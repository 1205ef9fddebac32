import { join } from 'node:path'
import { shiftDay, startOf, dayOf } from '../../../src/domain/day.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { ask, askJson, installedAt, startServer, type IntakeServer } from '../intake.ts'
import { gateUser, startGate, wrongPassword } from './nginx.ts'

let tenants = 0

/**
 * Behind nginx with Basic authentication, since Loki has none. Lines are counted by `query_range`, which merges equal lines: a
 * duplicate is not seen there.
 */
export const loki: IntakeServer = {
  name: 'Loki',
  dropsDuplicates: true,
  withoutRights: wrongPassword,
  async start() {
    const askAt = await startLoki()
    const url = await startGate(askAt)
    return () => {
      const tenant = newTenant()
      return {
        url,
        sinkAt: (to) => ({ type: 'http', preset: 'loki', format: 'native', url: to, tenant, ...gateUser }),
        stored: () => linesOf(askAt, tenant),
      }
    }
  },
}

export async function startLoki(limits: readonly string[] = []): Promise<string> {
  const { url } = await startServer(
    (port, home, grpcPort) => ({
      command: join(installedAt('loki'), 'loki'),
      args: [
        `-config.file=${projectFolder}test/intakes/servers/loki/loki.yaml`,
        '-config.expand-env=true',
        '-target=all',
        ...limits,
      ],
      env: { INTAKE_PORT: String(port), INTAKE_GRPC_PORT: String(grpcPort), INTAKE_FOLDER: home },
    }),
    async (address) => (await ask(`${address}/ready`)).status === 200,
  )
  return url
}

export const newTenant = () => `t${++tenants}`

interface Found {
  readonly data: { readonly result: readonly { readonly values: readonly (readonly [string, string])[] }[] }
}

const hourMs = 3_600_000

/** Lines older than three hours are found once they are flushed. */
export async function linesOf(url: string, tenant: string): Promise<string[]> {
  const headers = { 'x-scope-orgid': tenant }
  await ask(`${url}/flush`, { method: 'POST', headers })
  const today = dayOf(Date.now())
  const ids: string[] = []
  // An answer holds at most 5,000 lines.
  for (let fromMs = startOf(shiftDay(today, -2)); fromMs < Date.now(); fromMs += 6 * hourMs) {
    const query = new URLSearchParams({
      query: '{job="shieldlog"}',
      start: `${fromMs}000000`,
      end: `${fromMs + 6 * hourMs}000000`,
      limit: '5000',
      direction: 'forward',
    })
    const found = (await askJson(`${url}/loki/api/v1/query_range?${query.toString()}`, { headers })) as Found
    for (const { values } of found.data.result)
      for (const [, line] of values) ids.push((JSON.parse(line) as { id: string }).id)
  }
  return ids
}
