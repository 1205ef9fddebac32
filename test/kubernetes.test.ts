import {
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { Namespace, Service } from 'kubernetes-models/v1'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../src/config/load.ts'
import { startProcess } from './setup/processes.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'

const folder = join(projectFolder, 'config/kubernetes')
const read = (name: string): unknown => parse(readFileSync(join(folder, name), 'utf8'))
const resourcesOf = (kustomization: string) =>
  (read(kustomization) as { resources: readonly string[] }).resources
const operator = 'prometheus-operator'
const own = resourcesOf('kustomization.yaml')
const resources = [
  ...own,
  ...resourcesOf(`${operator}/kustomization.yaml`).map((each) => `${operator}/${each}`),
]
const name = 'shieldlog'
const labels = { 'app.kubernetes.io/name': name }

test('the kustomizations name every manifest, and what is generated is what the pod mounts', () => {
  const others = new Set([...resources, 'kustomization.yaml', 'shieldlog.yaml'])
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) => each !== operator)
  expect(files.toSorted()).toEqual([...others, `${operator}/kustomization.yaml`].toSorted())
  // A cluster without the Prometheus operator refuses its kinds: nothing of it is applied by default.
  expect(own.filter((each) => each.includes('prometheus') || each.includes('monitor'))).toEqual([])
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
    'monitoring.coreos.com/v1 PrometheusRule',
  ])
  const selector = { matchLabels: labels }
  expect(read('statefulset.yaml')).toMatchObject({ spec: { selector, template: { metadata: { labels } } } })
  expect(read('service.yaml')).toMatchObject({ metadata: { labels }, spec: { selector: labels } })
  expect(read(`${operator}/servicemonitor.yaml`)).toMatchObject({ spec: { selector } })
  expect(read('networkpolicy.yaml')).toMatchObject({ spec: { podSelector: selector } })
})

test('the rule of the operator has the alerts of the plain rule file', () => {
  const { groups } = parse(readFileSync(join(projectFolder, 'config/prometheus/alerts.yml'), 'utf8')) as {
    groups: readonly object[]
  }
  expect(read(`${operator}/prometheusrule.yaml`), 'run: npm run docs').toMatchObject({ spec: { groups } })
})

test('a pod that never became ready is replaced when its key or its settings are corrected', () => {
  // With OrderedReady the controller waits for the broken pod for ever.
  expect(read('statefulset.yaml')).toMatchObject({ spec: { replicas: 1, podManagementPolicy: 'Parallel' } })
})

test('the network policy lets out to the API, and to the usual ports of destinations', () => {
  const { spec } = read('networkpolicy.yaml') as {
    spec: { egress: readonly { ports: readonly { port: number; protocol: string }[] }[] }
  }
  const ports = spec.egress.flatMap((each) => each.ports)
  expect(ports.filter(({ protocol }) => protocol === 'TCP').map(({ port }) => port)).toEqual([
    53, 443, 8088, 9200, 3100, 6514, 4318, 6379,
  ])
  const page = readFileSync(join(projectFolder, 'docs/install.md'), 'utf8')
  for (const { port } of ports) expect(page).toContain(String(port))
})

/** A file with the lines for a token of a SIEM, which are comments in it. */
function withToken(name: string): string {
  return readFileSync(join(folder, name), 'utf8').replaceAll(
    /^( +)# (- siem-token$|- name: siem$| +\S+: .*$)/gm,
    '$1$2',
  )
}

test('the token of a SIEM has a place in Secret and settings', () => {
  const cwd = temporaryFolder()
  const mounted = '/run/secrets/shieldlog'
  cpSync(folder, cwd, { recursive: true })
  for (const secret of ['access-key', 'siem-token']) writeFileSync(join(cwd, secret), `the ${secret}\n`)
  expect(parse(withToken('kustomization.yaml'))).toMatchObject({
    secretGenerator: [{ name, files: ['access-key', 'siem-token'] }],
  })
  const file = join(cwd, 'shieldlog.yaml')
  writeFileSync(file, withToken('shieldlog.yaml').replaceAll(mounted, cwd))
  const { warnings, config } = loadConfig({ argv: { config: file }, env: {}, cwd })
  expect(warnings).toEqual([])
  const [, siem] = config.sinks
  expect(siem).toMatchObject({ name: 'siem', type: 'http' })
  if (siem?.type !== 'http' || !('headers' in siem)) throw new Error('no HTTP sink')
  expect(siem.headers['Authorization']?.reveal()).toBe('Bearer the siem-token')
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

const operatorModule = '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
/** Each manifest with the class of its kind, which has the schema of Kubernetes or of the Prometheus operator. */
const models: readonly (readonly [file: string, module: string, Class: Model])[] = [
  ['namespace.yaml', 'kubernetes-models/v1', Namespace],
  ['statefulset.yaml', 'kubernetes-models/apps/v1', StatefulSet],
  ['service.yaml', 'kubernetes-models/v1', Service],
  ['networkpolicy.yaml', 'kubernetes-models/networking.k8s.io/v1', NetworkPolicy],
  [`${operator}/servicemonitor.yaml`, operatorModule, ServiceMonitor],
  [`${operator}/prometheusrule.yaml`, operatorModule, PrometheusRule],
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

test('its settings load', () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'access-key'), 'k')
  const text = readFileSync(join(folder, 'shieldlog.yaml'), 'utf8')
  const file = join(cwd, 'shieldlog.yaml')
  writeFileSync(file, text.replace('/run/secrets/shieldlog/access-key', join(cwd, 'access-key')))
  const { warnings, config } = loadConfig({ argv: { config: file }, env: {}, cwd })
  expect([warnings, config.server.port]).toEqual([[], 9871])
})
