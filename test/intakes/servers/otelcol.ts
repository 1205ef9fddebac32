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

/** A log record; its attributes, those of its resource and the members of its body as texts. */
export interface CollectorRecord {
  readonly body: string
  readonly timeUnixNano?: string
  readonly attributes: Readonly<Record<string, string>>
}

/**
 * Starts it with these receivers, for a port and another one; what they read becomes records. One that goes on in the
 * folder of another has its records and its `file_storage`.
 */
export async function startCollector(
  receiversAt: (port: number, otherPort: number) => Readonly<Record<string, object>>,
  { folder }: { readonly folder?: string } = {},
) {
  let ports: readonly [number, number] = [0, 0]
  let file = ''
  const server = await startServer(
    (port, home, otherPort) => {
      ports = [port, otherPort]
      file = join(folder ?? home, 'records.jsonl')
      const receivers = receiversAt(port, otherPort)
      const extensions = {
        bearertokenauth: { scheme: 'Bearer', token: 'intake-token' },
        file_storage: { directory: folder ?? home },
      }
      const settings = {
        extensions,
        receivers,
        // Without a buffer, which a kill would lose, whatever the receivers remember.
        exporters: { file: { path: file, rotation: { max_megabytes: 10_000 } } },
        service: {
          telemetry: { logs: { level: 'warn' }, metrics: { level: 'none' } },
          extensions: Object.keys(extensions),
          pipelines: { logs: { receivers: Object.keys(receivers), exporters: ['file'] } },
        },
      }
      const path = join(home, 'collector.yaml')
      writeFileSync(path, JSON.stringify(settings))
      return {
        command: join(installedAt('otelcol'), 'otelcol'),
        args: ['--config', path, '--feature-gates=stanza.synchronousLogEmitter'],
      }
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
    resource?: { attributes?: Attributes }
    scopeLogs: {
      logRecords: {
        timeUnixNano?: string
        body?: { stringValue?: string; kvlistValue?: { values: Attributes } }
        attributes?: Attributes
      }[]
    }[]
  }[]
}

type Attributes = readonly { key: string; value: Readonly<Record<string, unknown>> }[]

function recordsIn(file: string): CollectorRecord[] {
  return linesIn(file)
    .flatMap((line) => (JSON.parse(line) as Exported).resourceLogs)
    .flatMap(({ resource, scopeLogs }) =>
      scopeLogs.flatMap(({ logRecords }) =>
        logRecords.map(({ body = {}, attributes = [], timeUnixNano }) => ({
          body: body.stringValue ?? '',
          ...(timeUnixNano !== undefined && { timeUnixNano }),
          attributes: textsOf([
            ...(body.kvlistValue?.values ?? []),
            ...(resource?.attributes ?? []),
            ...attributes,
          ]),
        })),
      ),
    )
}

function textsOf(attributes: Attributes): Readonly<Record<string, string>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]))
}
