import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, installedAt, linesIn, startServer, takesConnections, type IntakeServer } from '../intake.ts'

const headers = { authorization: 'Bearer intake-token' }

export const collector: IntakeServer = {
  name: 'OpenTelemetry Collector',
  dropsDuplicates: false,
  withoutRights: { 'a wrong token': { bearerToken: 'another-token' } },
  async start() {
    const { url, records } = await startCollector((port) => ({
      otlp: {
        protocols: {
          http: { endpoint: `127.0.0.1:${port}`, auth: { authenticator: 'bearertokenauth' } },
        },
      },
    }))
    const ids = () => records().map(({ attributes }) => attributes['log.record.uid'] ?? '')
    return () => {
      const from = ids().length
      return {
        url,
        sinkAt: (to) => ({ type: 'http', preset: 'otlp', url: to, bearerToken: 'intake-token' }),
        stored: async () => ids().slice(from),
      }
    }
  },
}

/** A log record, its attributes as texts. */
export interface CollectorRecord {
  readonly body: string
  readonly timeUnixNano?: string
  readonly attributes: Readonly<Record<string, string>>
}

/** Starts it with these receivers, for a port and another one; what they read becomes records. */
export async function startCollector(
  receiversAt: (port: number, otherPort: number, home: string) => Readonly<Record<string, object>>,
) {
  let ports: readonly [number, number] = [0, 0]
  let file = ''
  const server = await startServer(
    (port, home, otherPort) => {
      ports = [port, otherPort]
      file = join(home, 'records.jsonl')
      const receivers = receiversAt(port, otherPort, home)
      const extensions = { bearertokenauth: { scheme: 'Bearer', token: 'intake-token' } }
      const settings = {
        extensions,
        receivers,
        exporters: { file: { path: file, flush_interval: '100ms' } },
        service: {
          telemetry: { logs: { level: 'warn' }, metrics: { level: 'none' } },
          extensions: Object.keys(extensions),
          pipelines: { logs: { receivers: Object.keys(receivers), exporters: ['file'] } },
        },
      }
      const path = join(home, 'collector.yaml')
      writeFileSync(path, JSON.stringify(settings))
      return { command: join(installedAt('otelcol'), 'otelcol'), args: ['--config', path] }
    },
    async (url) => {
      if (!(await takesConnections(url))) return false
      const asked = await ask(`${url}/v1/logs`, { method: 'POST', headers, body: { resourceLogs: [] } })
      return asked.status === 200
    },
  )
  return { ...server, ports, records: () => recordsIn(file) }
}

interface Exported {
  readonly resourceLogs: {
    scopeLogs: {
      logRecords: {
        timeUnixNano?: string
        body?: { stringValue?: string }
        attributes?: { key: string; value: Readonly<Record<string, unknown>> }[]
      }[]
    }[]
  }[]
}

function recordsIn(file: string): CollectorRecord[] {
  return linesIn(file)
    .flatMap((line) => (JSON.parse(line) as Exported).resourceLogs)
    .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
    .map(({ body = {}, attributes = [], timeUnixNano }) => ({
      body: body.stringValue ?? '',
      ...(timeUnixNano !== undefined && { timeUnixNano }),
      attributes: Object.fromEntries(
        attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]),
      ),
    }))
}
