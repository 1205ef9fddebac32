import { ask, askJson, installedAt, startServer, type IntakeServer } from '../intake.ts'
import { bulkIntake, contentOf, newDataStream } from './bulk.ts'

export async function startOpenSearch(settings: readonly string[] = []): Promise<string> {
  const folder = installedAt('opensearch')
  const { url } = await startServer(
    (port, home) => ({
      command: 'java',
      args: [
        '-Xmx512m',
        '-XX:+UseSerialGC',
        '-Dorg.apache.logging.log4j.level=ERROR',
        '-cp',
        `${folder}/classes:${folder}/lib/*`,
        'OpenSearchNode',
        String(port),
        home,
        ...settings,
      ],
    }),
    async (address) => (await ask(address)).status === 200,
  )
  await installContent(url)
  return url
}

async function installContent(url: string): Promise<void> {
  const put = (path: string, name: string) =>
    askJson(`${url}/${path}`, { method: 'PUT', body: contentOf(name) })
  await put('_ingest/pipeline/logs-bunny_shield.event', 'ingest-pipeline')
  await put('_component_template/logs-bunny_shield.event@mappings', 'component-template.opensearch')
  await put('_index_template/logs-bunny_shield.event', 'index-template')
}

export const openSearch: IntakeServer = {
  name: 'OpenSearch',
  dropsDuplicates: true,
  async start() {
    const url = await startOpenSearch()
    return () => Promise.resolve(bulkIntake(url, newDataStream()))
  },
}
