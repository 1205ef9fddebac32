import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../src/config/load/load.ts'
import { startProcess } from './setup/processes.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'

const folder = join(projectFolder, 'config/kubernetes')
const read = (name: string): unknown => parse(readFileSync(join(folder, name), 'utf8'))
const resources = (read('kustomization.yaml') as { resources: readonly string[] }).resources
const name = 'shieldlog'
const labels = { 'app.kubernetes.io/name': name }

test('the kustomization names every manifest, and what it generates is what the pod mounts', () => {
  const others = new Set([...resources, 'kustomization.yaml', 'shieldlog.yaml'])
  expect(readdirSync(folder).toSorted()).toEqual([...others].toSorted())
  expect(read('kustomization.yaml')).toMatchObject({
    namespace: name,
    configMapGenerator: [{ name, files: ['shieldlog.yaml'] }],
    secretGenerator: [{ name, files: ['access-key'] }],
  })
  const volumes = [
    { name: 'settings', configMap: { name } },
    { name: 'secrets', secret: { secretName: name, defaultMode: 0o440 } },
  ]
  expect(read('statefulset.yaml')).toMatchObject({ spec: { template: { spec: { volumes } } } })
})

test('every resource has a kind of a known version, and its labels lead to the pod', () => {
  const kinds = resources.map((each) => {
    const { apiVersion, kind } = read(each) as { apiVersion: string; kind: string }
    return `${apiVersion} ${kind}`
  })
  expect(kinds).toEqual([
    'v1 Namespace',
    'apps/v1 StatefulSet',
    'v1 Service',
    'networking.k8s.io/v1 NetworkPolicy',
    'monitoring.coreos.com/v1 ServiceMonitor',
  ])
  const selector = { matchLabels: labels }
  expect(read('statefulset.yaml')).toMatchObject({ spec: { selector, template: { metadata: { labels } } } })
  expect(read('service.yaml')).toMatchObject({ metadata: { labels }, spec: { selector: labels } })
  expect(read('servicemonitor.yaml')).toMatchObject({ spec: { selector } })
  expect(read('networkpolicy.yaml')).toMatchObject({ spec: { podSelector: selector } })
})

test('the pod may do no more than it needs, and is probed by the paths of the server', () => {
  expect(read('statefulset.yaml')).toMatchObject({
    spec: {
      replicas: 1,
      template: {
        spec: {
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 },
          containers: [
            {
              ports: [{ name: 'http', containerPort: 9871 }],
              securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
              livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
              readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
            },
          ],
        },
      },
    },
  })
})

/** Install it with `pip install kubernetes-validate`; it has the schemas of Kubernetes, and needs no network. */
test('kubernetes-validate accepts every manifest of Kubernetes itself, where it is installed', async () => {
  const validate = (...files: string[]) => startProcess('kubernetes-validate', ['--strict', ...files]).exited
  const installed = await startProcess('kubernetes-validate', ['--version']).exited.catch(() => undefined)
  if (installed?.code !== 0) return
  const files = resources.filter((each) => each !== 'servicemonitor.yaml').map((each) => join(folder, each))
  expect((await validate(...files)).code).toBe(0)
  const wrong = join(temporaryFolder(), 'wrong.yaml')
  writeFileSync(
    wrong,
    readFileSync(join(folder, 'statefulset.yaml'), 'utf8').replace('replicas:', 'replicsa:'),
  )
  expect((await validate(wrong)).code).toBe(1)
})

test('its settings load', () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'access-key'), 'k')
  const text = readFileSync(join(folder, 'shieldlog.yaml'), 'utf8')
  const file = join(cwd, 'shieldlog.yaml')
  writeFileSync(file, text.replace('/run/secrets/shieldlog/access-key', join(cwd, 'access-key')))
  const { warnings, config } = loadConfig({ argv: { config: file }, env: {}, cwd })
  expect([warnings, config.server.port]).toEqual([[], 9871])
})
