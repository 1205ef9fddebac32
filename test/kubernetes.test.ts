import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { Namespace, Service } from 'kubernetes-models/v1'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
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

test('every resource has a kind of a known version, and its labels select the pod', () => {
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

test('the pod has only the rights that it needs, and its probes use the paths of the server', () => {
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

/** Each manifest with the class of its kind, which has the schema of Kubernetes or of the Prometheus operator. */
const models: readonly (readonly [file: string, module: string, Class: Model])[] = [
  ['namespace.yaml', 'kubernetes-models/v1', Namespace],
  ['statefulset.yaml', 'kubernetes-models/apps/v1', StatefulSet],
  ['service.yaml', 'kubernetes-models/v1', Service],
  ['networkpolicy.yaml', 'kubernetes-models/networking.k8s.io/v1', NetworkPolicy],
  ['servicemonitor.yaml', '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1', ServiceMonitor],
]

interface Manifest {
  readonly kind: string
}
type Model = new (manifest: never) => { validate(): void }

function validate(Class: Model, manifest: object): void {
  new Class(manifest as never).validate()
}

/**
 * The schemas of Kubernetes allow unknown keys, which the API server drops without a word. The types of the same models
 * do not: the compiler refuses an unknown key of an object literal.
 */
async function compile(manifests: readonly Manifest[]): Promise<string> {
  const folder = temporaryFolder()
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  const file = join(folder, 'manifests.ts')
  const lines = manifests.map((manifest, index) => {
    const { kind } = manifest
    const module = models[index]![1]
    return `import { type I${kind} } from '${module}'\nexport const ${kind}: I${kind} = ${JSON.stringify(manifest)}\n`
  })
  writeFileSync(file, lines.join(''))
  const options = [
    '--noEmit',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--ignoreConfig',
  ]
  const { exited, stdout } = startProcess(join(projectFolder, 'node_modules/.bin/tsc'), [...options, file])
  await exited
  return stdout()
}

test('the schemas of Kubernetes and of the Prometheus operator accept every manifest, and its keys are known', async () => {
  expect(models.map(([file]) => file)).toEqual(resources)
  const manifests = resources.map((each) => read(each) as Manifest)
  for (const [index, [, , Class]] of models.entries()) validate(Class, manifests[index]!)
  expect(await compile(manifests)).toBe('')
})

test('they refuse a wrong value and an unknown key of each manifest', async () => {
  const wrong = models.map(([file]) => ({ ...(read(file) as Manifest), spec: { selektor: {} } }))
  for (const [index, [file, , Class]] of models.entries())
    expect(() => validate(Class, { ...wrong[index], spec: 'text' }), file).toThrow('spec')
  expect((await compile(wrong)).match(/"selektor"' does not exist/g)).toHaveLength(models.length)
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
