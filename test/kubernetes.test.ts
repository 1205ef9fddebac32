import {
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { Namespace, Pod, Service } from 'kubernetes-models/v1'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../src/config/load.ts'
import { startProcess } from './setup/processes.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'

type Model = new (manifest: never) => { validate(): void }

const folder = join(projectFolder, 'config/kubernetes')
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
const read = (name: string): unknown => parse(textOf(name))
const operator = 'prometheus-operator'
const operatorModule = '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
/** Each manifest with the module and class of its kind, which has the schema of Kubernetes or of the operator. */
const manifests: readonly (readonly [file: string, module: string, Class: Model])[] = [
  ['namespace.yaml', 'kubernetes-models/v1', Namespace],
  ['statefulset.yaml', 'kubernetes-models/apps/v1', StatefulSet],
  ['service.yaml', 'kubernetes-models/v1', Service],
  ['networkpolicy.yaml', 'kubernetes-models/networking.k8s.io/v1', NetworkPolicy],
  [`${operator}/servicemonitor.yaml`, operatorModule, ServiceMonitor],
  [`${operator}/prometheusrule.yaml`, operatorModule, PrometheusRule],
]
const name = 'shieldlog'
const labels = { 'app.kubernetes.io/name': name }
const selector = { matchLabels: labels }

test('the kustomizations name every manifest; nothing of the operator is applied by default', () => {
  const named = (kustomization: string) => (read(kustomization) as { resources: readonly string[] }).resources
  // A cluster without the Prometheus operator refuses its kinds.
  const own = named('kustomization.yaml')
  const others = named(`${operator}/kustomization.yaml`).map((each) => `${operator}/${each}`)
  expect([...own, ...others]).toEqual(manifests.map(([file]) => file))
  expect(others).toHaveLength(2)
  const settings = ['kustomization.yaml', `${operator}/kustomization.yaml`, 'shieldlog.yaml', operator]
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  expect(files.toSorted()).toEqual([...own, ...others, ...settings].toSorted())
})

const alertsText = readFileSync(join(projectFolder, 'config/prometheus/alerts.yml'), 'utf8')
const alerts = parse(alertsText) as object
test('the chart has the alerts, as a file of its own', () => {
  const own = join(projectFolder, 'config/helm/shieldlog/alerts.yml')
  expect(readFileSync(own, 'utf8'), 'copy config/prometheus/alerts.yml there').toBe(alertsText)
})

const http = (path: string) => ({ httpGet: { path, port: 'http' } })
const volumes = [
  { name: 'settings', configMap: { name } },
  { name: 'secrets', secret: { secretName: name, defaultMode: 0o440 } },
]
const container = {
  ports: [{ name: 'http', containerPort: 9871 }],
  securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  livenessProbe: http('/healthz'),
  readinessProbe: http('/readyz'),
}
const rights = {
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 },
}

test.each([
  [
    'mounts what is generated',
    'kustomization.yaml',
    {
      namespace: name,
      configMapGenerator: [{ name, files: ['shieldlog.yaml'] }],
      secretGenerator: [{ name, files: ['access-key'] }],
    },
  ],
  [
    'has only the rights that it needs, and its probes use the paths of the server',
    'statefulset.yaml',
    {
      spec: {
        selector,
        template: { metadata: { labels }, spec: { ...rights, volumes, containers: [container] } },
      },
    },
  ],
  [
    // With OrderedReady the controller waits for the broken pod for ever.
    'is replaced when its key or its settings are corrected, although it never became ready',
    'statefulset.yaml',
    { spec: { replicas: 1, podManagementPolicy: 'Parallel' } },
  ],
  ['is selected by its labels', 'service.yaml', { metadata: { labels }, spec: { selector: labels } }],
  ['is selected by its labels', `${operator}/servicemonitor.yaml`, { spec: { selector } }],
  ['is selected by its labels', 'networkpolicy.yaml', { spec: { podSelector: selector } }],
  // What fails after a change of the alerts: npm run docs.
  ['has the alerts of the plain rule file', `${operator}/prometheusrule.yaml`, { spec: alerts }],
])('the pod %s (%s)', (_, file, expected) => {
  expect(read(file)).toMatchObject(expected)
})

test('the network policy lets out to the API, and to the usual ports of destinations', () => {
  const { spec } = read('networkpolicy.yaml') as {
    spec: { egress: readonly { ports: readonly { port: number; protocol: string }[] }[] }
  }
  const ports = spec.egress.flatMap((each) => each.ports)
  expect(ports.filter(({ protocol }) => protocol === 'TCP').map(({ port }) => port)).toEqual([
    53, 443, 8088, 9200, 3100, 6514, 4318, 6379, 9092, 9093, 3128, 8080,
  ])
  const page = readFileSync(join(projectFolder, 'docs/install.md'), 'utf8')
  for (const { port } of ports) expect(page).toContain(String(port))
})

test('the pod in which the page restores a state is valid, and mounts the volume of the StatefulSet', () => {
  const page = readFileSync(join(projectFolder, 'docs/install.md'), 'utf8')
  const [, overrides = ''] = /kubectl .* run restore .* --overrides='(.+)'/.exec(page) ?? []
  const { spec } = JSON.parse(overrides) as { spec: { volumes: readonly object[] } }
  new Pod({ metadata: { name: 'restore' }, spec } as never).validate()
  expect(spec.volumes).toEqual([{ name: 'data', persistentVolumeClaim: { claimName: `data-${name}-0` } }])
  const { volumeClaimTemplates } = (read('statefulset.yaml') as { spec: { volumeClaimTemplates: unknown } })
    .spec
  expect(volumeClaimTemplates).toMatchObject([{ metadata: { name: 'data' } }])
})

/** Settings that are loaded where the files of the Secret lie in a folder of the test. */
function loaded(settings: string) {
  const cwd = temporaryFolder()
  for (const secret of ['access-key', 'siem-token']) writeFileSync(join(cwd, secret), `the ${secret}\n`)
  const file = join(cwd, 'shieldlog.yaml')
  writeFileSync(file, settings.replaceAll('/run/secrets/shieldlog', cwd))
  const { warnings, config } = loadConfig({ argv: { config: file }, env: {}, cwd })
  expect(warnings).toEqual([])
  return config
}

test('its settings load, also with the token of a SIEM, which has a place in them and in the Secret', () => {
  expect(loaded(textOf('shieldlog.yaml')).server.port).toBe(9871)
  // The lines for it are comments.
  const withToken = (file: string) =>
    textOf(file).replaceAll(/^( +)# (- siem-token$|- name: siem$| +\S+: .*$)/gm, '$1$2')
  expect(parse(withToken('kustomization.yaml'))).toMatchObject({
    secretGenerator: [{ name, files: ['access-key', 'siem-token'] }],
  })
  const [, siem] = loaded(withToken('shieldlog.yaml')).sinks
  expect(siem).toMatchObject({ name: 'siem', type: 'http' })
  if (siem?.type !== 'http' || !('headers' in siem)) throw new Error('no HTTP sink')
  expect(siem.headers['Authorization']?.reveal()).toBe('Bearer the siem-token')
})

test('the schemas of Kubernetes and of the Prometheus operator accept every manifest, and its keys are known', async () => {
  const cwd = temporaryFolder()
  symlinkSync(join(projectFolder, 'node_modules'), join(cwd, 'node_modules'))
  // The schemas allow unknown keys, which the API server drops without a word. The types of the same models do not: the
  // compiler refuses an unknown key of an object literal.
  const lines = manifests.map(([path, module, Class]) => {
    const manifest = read(path) as { readonly kind: string }
    new Class(manifest as never).validate()
    const { kind } = manifest
    expect(kind).toBe(Class.name)
    return `import { type I${kind} } from '${module}'\nexport const ${kind}: I${kind} = ${JSON.stringify(manifest)}\n`
  })
  const file = join(cwd, 'manifests.ts')
  writeFileSync(file, lines.join(''))
  const options = '--noEmit --skipLibCheck --module nodenext --target es2024 --ignoreConfig'.split(' ')
  const tsc = startProcess(join(projectFolder, 'node_modules/.bin/tsc'), [...options, file])
  await tsc.exited
  expect(tsc.stdout()).toBe('')
})
