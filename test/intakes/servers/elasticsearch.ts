import { ask, askJson, installedAt, startServer, type IntakeServer } from '../intake.ts'
import { bulkIntake, contentOf, newDataStream } from './bulk.ts'
import { gateUser, startGate, wrongPassword } from './nginx.ts'

export async function startElasticsearch(): Promise<string> {
  const folder = installedAt('elasticsearch')
  const { url } = await startServer(
    (port, home) => {
      const java = ['-Xmx512m', '-XX:+UseSerialGC', '-cp', `${folder}/classes:${folder}/lib/*`]
      return {
        command: 'java',
        args: [...java, 'ElasticsearchNode', String(port), home, `${folder}/modules`],
      }
    },
    async (address) => (await ask(`${address}/_cluster/health`)).status === 200,
  )
  await installContent(url)
  return url
}

/** The published server has neither ingest processors nor the type `flattened`, so it gets the content without these. */
async function installContent(url: string): Promise<void> {
  const put = (path: string, body: string) => askJson(`${url}/${path}`, { method: 'PUT', body })
  const component = JSON.stringify(contentOf('component-template'))
  const index = JSON.stringify(contentOf('index-template'))
  await put(
    '_component_template/logs-bunny_shield.event@mappings',
    component.replaceAll('"type":"flattened"', '"type":"object","enabled":false'),
  )
  await put(
    '_index_template/logs-bunny_shield.event',
    index.replace('"default_pipeline":"logs-bunny_shield.event"', ''),
  )
}

/** Behind nginx with Basic authentication, since the published server has none. */
export const elasticsearch: IntakeServer = {
  name: 'Elasticsearch',
  dropsDuplicates: true,
  withoutRights: wrongPassword,
  async start() {
    const askAt = await startElasticsearch()
    const url = await startGate(askAt)
    return () => Promise.resolve(bulkIntake({ url, index: newDataStream(), credentials: gateUser, askAt }))
  },
}
