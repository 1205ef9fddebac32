import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../../setup/project-folder.ts'
import { ask, installedAt, startServer, type IntakeServer } from '../intake.ts'

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
      return Promise.resolve({
        url,
        sinkAt: (to) => ({
          type: 'http',
          preset: 'otlp',
          format: 'otlp',
          url: to,
          bearerToken: 'intake-token',
        }),
        stored: () => Promise.resolve(idsIn(requests).slice(from)),
      })
    }
  },
}

interface Exported {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly attributes: readonly {
          readonly key: string
          readonly value: { readonly stringValue?: string }
        }[]
      }[]
    }[]
  }[]
}

function idsIn(file: string): string[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => (JSON.parse(line) as Exported).resourceLogs)
    .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
    .flatMap(({ attributes }) => attributes.filter(({ key }) => key === 'log.record.uid'))
    .map(({ value }) => value.stringValue ?? '')
}
