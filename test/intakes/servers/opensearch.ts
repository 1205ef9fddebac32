import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../../setup/project-folder.ts'
import { ask, askJson, installedAt, startServer, type IntakeServer } from '../intake.ts'
import { bulkIntake, contentOf, newDataStream } from './bulk.ts'

const admin = { authorization: `Basic ${Buffer.from('admin:admin').toString('base64')}` }
const password = 'An-intake-password-1'

/** One node without security. */
export async function startOpenSearch(): Promise<string> {
  const url = await startNode([], {})
  await installContent(url, {})
  return url
}

async function startNode(settings: readonly string[], headers: Record<string, string>): Promise<string> {
  const folder = installedAt('opensearch')
  const isSecure = settings.length > 0
  const { url } = await startServer(
    (port, home) => {
      if (isSecure) copySecurity(folder, join(home, 'config'))
      const jars = [`${folder}/classes`, `${folder}/lib/*`, ...(isSecure ? [`${folder}/security/*`] : [])]
      const java = ['-Xmx512m', '-XX:+UseSerialGC', '-Dorg.apache.logging.log4j.level=ERROR']
      const args = [...java, '-cp', jars.join(':'), 'OpenSearchNode', String(port), home, ...settings]
      return { command: 'java', args }
    },
    async (address) => (await ask(address, { headers })).status === 200,
  )
  return url
}

function copySecurity(folder: string, config: string): void {
  mkdirSync(config, { mode: 0o700 })
  cpSync(join(folder, 'security-config'), join(config, 'opensearch-security'), { recursive: true })
  for (const name of ['server.pem', 'server.key', 'ca.pem'])
    cpSync(`${projectFolder}test/fixtures/tls/${name}`, join(config, name))
}

async function installContent(url: string, headers: Record<string, string>): Promise<void> {
  const put = (path: string, name: string) =>
    askJson(`${url}/${path}`, { method: 'PUT', body: contentOf(name), headers })
  await put('_ingest/pipeline/logs-bunny_shield.event', 'ingest-pipeline')
  await put('_component_template/logs-bunny_shield.event@mappings', 'component-template.opensearch')
  await put('_index_template/logs-bunny_shield.event', 'index-template')
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
    const url = await startNode(settings, admin)
    await installContent(url, admin)
    await addUser(url, 'shieldlog', ['create_index', 'crud'])
    await addUser(url, 'reader', ['read'])
    return () =>
      Promise.resolve(
        bulkIntake({
          url,
          index: newDataStream(),
          credentials: { username: 'shieldlog', password },
          askAs: admin,
        }),
      )
  },
}

async function addUser(url: string, name: string, rights: readonly string[]): Promise<void> {
  const put = (path: string, body: object) =>
    askJson(`${url}/_plugins/_security/api/${path}`, { method: 'PUT', headers: admin, body })
  await put(`roles/${name}`, {
    cluster_permissions: ['cluster_composite_ops'],
    index_permissions: [{ index_patterns: ['logs-bunny_shield.event-*'], allowed_actions: rights }],
  })
  await put(`internalusers/${name}`, { password, opendistro_security_roles: [name] })
}
