import { join } from 'node:path'
import { projectFolder } from '../../setup/project-folder.ts'
import { ask, installedAt, linesIn, startServer, type IntakeServer } from '../intake.ts'

const headers = { authorization: 'Bearer intake-token' }

export const collector: IntakeServer = {
  name: 'OpenTelemetry Collector',
  dropsDuplicates: false,
  withoutRights: { 'a wrong token': { bearerToken: 'another-token' } },
  async start() {
    const { url, folder } = await startServer(
      (port, home) => ({
        command: join(installedAt('otelcol'), 'otelcol'),
        args: ['--config', `${projectFolder}test/intakes/servers/otelcol/config.yaml`],
        env: { INTAKE_PORT: String(port), INTAKE_FOLDER: home },
      }),
      async (address) =>
        (await ask(`${address}/v1/logs`, { method: 'POST', headers, body: { resourceLogs: [] } })).status ===
        200,
    )
    const requests = join(folder, 'requests.jsonl')
    return () => {
      const from = idsIn(requests).length
      return {
        url,
        sinkAt: (to) => ({ type: 'http', preset: 'otlp', url: to, bearerToken: 'intake-token' }),
        stored: async () => idsIn(requests).slice(from),
      }
    }
  },
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string }
}
interface Exported {
  readonly resourceLogs: { scopeLogs: { logRecords: { attributes: Attribute[] }[] }[] }[]
}

function idsIn(file: string): string[] {
  return linesIn(file)
    .flatMap((line) => (JSON.parse(line) as Exported).resourceLogs)
    .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
    .flatMap(({ attributes }) => attributes.filter(({ key }) => key === 'log.record.uid'))
    .map(({ value }) => value.stringValue ?? '')
}
