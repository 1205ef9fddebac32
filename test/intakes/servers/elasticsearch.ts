import { ask, askJson, installedAt, startServer, type IntakeServer } from '../intake.ts'
import { bulkIntake, newDataStream } from './bulk.ts'

/** The published server has neither ingest processors nor the type `flattened`, so it gets no content of ours. */
export const elasticsearch: IntakeServer = {
  name: 'Elasticsearch',
  dropsDuplicates: true,
  async start() {
    const folder = installedAt('elasticsearch')
    const { url } = await startServer(
      (port, home) => ({
        command: 'java',
        args: [
          '-Xmx512m',
          '-XX:+UseSerialGC',
          '-cp',
          `${folder}/classes:${folder}/lib/*`,
          'ElasticsearchNode',
          String(port),
          home,
          `${folder}/modules`,
        ],
      }),
      async (address) => (await ask(`${address}/_cluster/health`)).status === 200,
    )
    await askJson(`${url}/_index_template/events`, {
      method: 'PUT',
      body: { index_patterns: ['logs-*'], data_stream: {}, priority: 500, template: { mappings } },
    })
    return () => Promise.resolve(bulkIntake(url, newDataStream()))
  },
}

const mappings = {
  properties: {
    '@timestamp': { type: 'date' },
    event: { properties: { id: { type: 'keyword' } } },
    source: { properties: { ip: { type: 'ip' } } },
  },
}
