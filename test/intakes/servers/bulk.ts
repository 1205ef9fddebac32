import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../../setup/project-folder.ts'
import { ask, askJson, installedAt, startServer, type Intake, type IntakeServer } from '../intake.ts'
import { gateUser, startGate, wrongPassword } from './nginx.ts'

// The servers with `_bulk`: Elasticsearch and OpenSearch.

type Headers = Record<string, string>

const java = ['-Xmx512m', '-XX:+UseSerialGC']
const event = 'logs-bunny_shield.event'

let made = 0
/** A data stream that no other test uses, and that the index template is for. */
export const newDataStream = () => `${event}-test${++made}`

interface BulkPlace {
  /** Where shieldlog sends to. */
  readonly url: string
  readonly index: string
  readonly credentials?: { readonly username: string; readonly password: string }
  /** Where the test asks, and as whom. */
  readonly askAt?: string
  readonly askAs?: Headers
}

export function bulkIntake({ url, index, credentials, askAt = url, askAs }: BulkPlace): Intake {
  const fixed = { type: 'http', preset: 'elasticsearch', format: 'ecs', index, ...credentials }
  return { url, sinkAt: (to) => ({ ...fixed, url: to }), stored: () => documentsOf(askAt, index, askAs) }
}

/** Ids of the events of all documents, so that a second one is seen. */
async function documentsOf(url: string, index: string, headers: Headers = {}): Promise<string[]> {
  await askJson(`${url}/${index}/_refresh`, { method: 'POST', headers })
  const ids: string[] = []
  let after: unknown[] | undefined
  for (;;) {
    const body = {
      size: 1000,
      _source: false,
      sort: [{ '@timestamp': 'asc' }, { 'event.id': { order: 'asc', unmapped_type: 'keyword' } }],
      ...(after !== undefined && { search_after: after }),
    }
    const page = (await askJson(`${url}/${index}/_search`, { method: 'POST', headers, body })) as {
      hits: { hits: { sort: [string, string] }[] }
    }
    const { hits } = page.hits
    if (hits.length === 0) return ids
    ids.push(...hits.map(({ sort: [, id] }) => id))
    after = hits.at(-1)!.sort
  }
}

/** Installs files of `config/elasticsearch`, as users do: by the path, the name of a file. */
async function install(
  url: string,
  files: Readonly<Record<string, string>>,
  headers: Headers = {},
  changed = (text: string) => text,
): Promise<void> {
  for (const [path, name] of Object.entries(files)) {
    const text = readFileSync(join(projectFolder, 'config/elasticsearch', `${name}.json`), 'utf8')
    const body = changed(JSON.stringify(JSON.parse(text)))
    await askJson(`${url}/${path}`, { method: 'PUT', body, headers })
  }
}

/** The published server has no ingest processors, so it gets the content without the pipeline. */
export async function startElasticsearch(): Promise<string> {
  const folder = installedAt('elasticsearch')
  const { url } = await startServer(
    (port, home) => {
      const classes = ['-cp', `${folder}/classes:${folder}/lib/*`]
      const args = [...java, ...classes, 'ElasticsearchNode', String(port), home, `${folder}/modules`]
      return { command: 'java', args }
    },
    async (address) => (await ask(`${address}/_cluster/health`)).status === 200,
  )
  const files = {
    [`_component_template/${event}@mappings`]: 'component-template',
    [`_index_template/${event}`]: 'index-template',
  }
  await install(url, files, {}, (text) => text.replace(`"default_pipeline":"${event}"`, ''))
  return url
}

/** Behind nginx with Basic authentication, since the published server has none. */
export const elasticsearch: IntakeServer = {
  name: 'Elasticsearch',
  dropsDuplicates: true,
  withoutRights: wrongPassword,
  async start() {
    const askAt = await startElasticsearch()
    const url = await startGate(askAt)
    return () => bulkIntake({ url, index: newDataStream(), credentials: gateUser, askAt })
  },
}

/** One node, without security where there are no settings of it. */
export async function startOpenSearch(
  settings: readonly string[] = [],
  headers: Headers = {},
): Promise<string> {
  const folder = installedAt('opensearch')
  const isSecure = settings.length > 0
  const { url } = await startServer(
    (port, home) => {
      if (isSecure) copySecurity(folder, join(home, 'config'))
      const jars = [`${folder}/classes`, `${folder}/lib/*`, ...(isSecure ? [`${folder}/security/*`] : [])]
      const quiet = '-Dorg.apache.logging.log4j.level=ERROR'
      const args = [...java, quiet, '-cp', jars.join(':'), 'OpenSearchNode', String(port), home, ...settings]
      return { command: 'java', args }
    },
    async (address) => (await ask(address, { headers })).status === 200,
  )
  const files = {
    [`_ingest/pipeline/${event}`]: 'ingest-pipeline',
    [`_component_template/${event}@mappings`]: 'component-template',
    [`_index_template/${event}`]: 'index-template',
  }
  await install(url, files, headers)
  return url
}

function copySecurity(folder: string, config: string): void {
  mkdirSync(config, { mode: 0o700 })
  cpSync(join(folder, 'security-config'), join(config, 'opensearch-security'), { recursive: true })
  for (const name of ['server.pem', 'server.key', 'ca.pem'])
    cpSync(`${projectFolder}test/fixtures/tls/${name}`, join(config, name))
}

const security = {
  'ssl.transport.pemcert_filepath': 'server.pem',
  'ssl.transport.pemkey_filepath': 'server.key',
  'ssl.transport.pemtrustedcas_filepath': 'ca.pem',
  'ssl.transport.enforce_hostname_verification': 'false',
  'ssl.http.enabled': 'false',
  allow_default_init_securityindex: 'true',
  'restapi.roles_enabled.0': 'all_access',
}
const admin = { authorization: `Basic ${Buffer.from('admin:admin').toString('base64')}` }
const password = 'An-intake-password-1'

/** With its security plugin, and a user who has the rights that the docs name. */
export const openSearch: IntakeServer = {
  name: 'OpenSearch',
  dropsDuplicates: true,
  withoutRights: {
    'a wrong password': { password: 'another-password' },
    'a user who may only read': { username: 'reader' },
  },
  async start() {
    const settings = Object.entries(security).map(([name, value]) => `plugins.security.${name}=${value}`)
    const url = await startOpenSearch(settings, admin)
    await addUser(url, 'shieldlog', ['create_index', 'crud'])
    await addUser(url, 'reader', ['read'])
    const credentials = { username: 'shieldlog', password }
    return () => bulkIntake({ url, index: newDataStream(), credentials, askAs: admin })
  },
}

async function addUser(url: string, name: string, rights: readonly string[]): Promise<void> {
  const put = (path: string, body: object) =>
    askJson(`${url}/_plugins/_security/api/${path}`, { method: 'PUT', headers: admin, body })
  await put(`roles/${name}`, {
    cluster_permissions: ['cluster_composite_ops'],
    index_permissions: [{ index_patterns: [`${event}-*`], allowed_actions: rights }],
  })
  await put(`internalusers/${name}`, { password, opendistro_security_roles: [name] })
}
