import {
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { ConfigMap, Secret, Service, ServiceAccount } from 'kubernetes-models/v1'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { runCommand } from '../setup/run-command.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { installedAt } from './intake.ts'

const helm = join(installedAt('helm'), 'helm')
const chart = join(projectFolder, 'config/helm/shieldlog')
const models = {
  StatefulSet,
  Service,
  ServiceAccount,
  ConfigMap,
  Secret,
  NetworkPolicy,
  ServiceMonitor,
  PrometheusRule,
}

interface Manifest {
  readonly kind: keyof typeof models
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: object
}

const rendered = (...set: string[]) => renderedAs('waf', ...set)

async function renderedAs(release: string, ...set: string[]): Promise<Manifest[]> {
  const { stdout } = await runCommand(helm, ['template', release, chart, '--namespace', 'sec', ...set])
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
}

test('the schemas of Kubernetes accept everything that the chart renders, and its settings load', async () => {
  const cwd = temporaryFolder()
  const key = join(cwd, 'access-key')
  writeFileSync(key, 'the key')
  const all = [
    '--set',
    'serviceMonitor.enabled=true,prometheusRule.enabled=true,serviceAccount.create=true',
    '--set',
    'config.zones={101,102}',
  ]
  const manifests = await rendered(...all, '--set-file', `secrets.access-key=${key}`)
  for (const manifest of manifests) new models[manifest.kind](manifest as never).validate()
  expect(manifests.map(({ kind }) => kind).toSorted()).toEqual(Object.keys(models).toSorted())
  const settings = manifests.find(({ kind }) => kind === 'ConfigMap')!.data!['shieldlog.yaml']!
  const file = join(cwd, 'shieldlog.yaml')
  writeFileSync(file, settings.replaceAll('/run/secrets/shieldlog', cwd))
  const { config, warnings } = loadConfig({ argv: { config: file }, env: {}, cwd })
  expect([config.accounts[0]!.zones.map(({ id }) => id), warnings]).toEqual([[101, 102], []])
})

test('a Secret of its own replaces the one of the chart; without a key, and with a number as one, the chart is refused', async () => {
  const manifests = await rendered('--set', 'existingSecret=waf-keys,networkPolicy.enabled=false')
  expect(manifests.map(({ kind }) => kind).toSorted()).toEqual(['ConfigMap', 'Service', 'StatefulSet'])
  expect(JSON.stringify(manifests)).toContain('"secretName":"waf-keys"')
  await expect(rendered()).rejects.toThrow('Give the access key')
  await expect(rendered('--set', 'secrets.access-key=123')).rejects.toThrow('--set-string')
})

const withKey = ['--set', 'existingSecret=waf-keys']
const monitored = [...withKey, '--set', 'serviceMonitor.enabled=true,prometheusRule.enabled=true']

interface Group {
  readonly rules: readonly { readonly expr: string; readonly annotations: { readonly summary: string } }[]
}

const rulesOf = (manifests: readonly Manifest[]) =>
  (
    manifests.find(({ kind }) => kind === 'PrometheusRule')!.spec as { groups: readonly Group[] }
  ).groups.flatMap(({ rules }) => rules)

test('the values reach the pod: environment, volumes, labels, account and priority', async () => {
  const file = join(temporaryFolder(), 'values.yaml')
  const pod = {
    env: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
    envFrom: [{ configMapRef: { name: 'proxies' } }],
    extraVolumes: [{ name: 'authorities', configMap: { name: 'authorities' } }],
    extraVolumeMounts: [{ name: 'authorities', mountPath: '/etc/authorities' }],
  }
  const values = {
    ...pod,
    podLabels: { 'azure.workload.identity/use': 'true' },
    podAnnotations: { 'sidecar.istio.io/inject': 'false' },
    priorityClassName: 'high',
    serviceAccount: { create: true, name: 'shipper', annotations: { 'eks.amazonaws.com/role-arn': 'arn:1' } },
  }
  writeFileSync(file, JSON.stringify(values))
  const manifests = await rendered(...withKey, '--values', file)
  for (const manifest of manifests) new models[manifest.kind](manifest as never).validate()
  const { template } = manifests.find(({ kind }) => kind === 'StatefulSet')!.spec as { template: object }
  const { env, envFrom, extraVolumes, extraVolumeMounts } = pod
  expect(template).toMatchObject({
    metadata: { labels: values.podLabels, annotations: values.podAnnotations },
    spec: {
      priorityClassName: 'high',
      serviceAccountName: 'shipper',
      volumes: expect.arrayContaining(extraVolumes) as object[],
      containers: [{ env, envFrom, volumeMounts: expect.arrayContaining(extraVolumeMounts) as object[] }],
    },
  })
  const account = manifests.find(({ kind }) => kind === 'ServiceAccount')
  expect(account!.metadata).toMatchObject({ name: 'shipper', annotations: values.serviceAccount.annotations })
  const [, own] = [
    await rendered(...withKey),
    await rendered(...withKey, '--set', 'serviceAccount.name=mine'),
  ]
  expect(JSON.stringify(own)).toContain('"serviceAccountName":"mine"')
})

test('monitor and rules have labels of their own; the rules of a release are about its job, its limits are values', async () => {
  const labels = '--set=serviceMonitor.labels.release=kps,prometheusRule.labels.release=kps'
  const manifests = await rendered(...monitored, labels)
  const [monitor, rule] = ['ServiceMonitor', 'PrometheusRule'].map((wanted) =>
    manifests.find(({ kind }) => kind === wanted)!,
  )
  for (const each of [monitor!, rule!]) expect(each.metadata.labels).toMatchObject({ release: 'kps' })
  const service = manifests.find(({ kind }) => kind === 'Service')!
  const { jobLabel, selector, endpoints } = monitor!.spec as {
    jobLabel: string
    selector: { matchLabels: object }
    endpoints: readonly object[]
  }
  expect(service.metadata.labels).toMatchObject(selector.matchLabels)
  expect(endpoints).toMatchObject([{ honorLabels: true }])
  const own = `{namespace="sec",job="${service.metadata.labels[jobLabel]}"`
  const plain = parse(readFileSync(join(chart, 'alerts.yml'), 'utf8')) as { groups: readonly Group[] }
  const rules = rulesOf(manifests)
  for (const { expr } of rules) {
    expect(expr).toContain(own)
    expect(expr.match(/shieldlog_[a-z_]+(?!\w)/g)).toHaveLength(
      expr.split(own).length - 1 - (expr.match(/\b(up|ALERTS|process_start_time_seconds)\{/g)?.length ?? 0),
    )
  }
  // Besides, nothing differs from the plain rules.
  const bare = (expr: string) =>
    expr
      .replaceAll(own, '{')
      .replaceAll('{}', '')
      .replaceAll('{,', '{')
      .replaceAll('{job=~".*shieldlog.*"}', '')
      .replaceAll(/\s+/g, ' ')
  expect(rules.map(({ expr }) => bare(expr))).toEqual(
    plain.groups[0]!.rules.map(({ expr }) => bare(expr).trim()),
  )
  const { thresholds } = (
    parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as {
      prometheusRule: { thresholds: Readonly<Record<string, unknown>> }
    }
  ).prometheusRule
  const names = Object.keys(thresholds)
  // Each limit, although it is the same as another one has by default.
  const set = names.map((name) => `prometheusRule.thresholds.${name}=${name === 'lagSeconds' ? 30 : 900}`)
  const text = JSON.stringify(rulesOf(await rendered(...monitored, '--set', set.join())))
  expect(text.match(/[<>] 900\b/g)!.length).toBeGreaterThanOrEqual(names.length - 1)
  expect(text).toContain('> 30')
  expect(text).not.toMatch(/[<>] (10800|3600\b[^"]* old|0\.\d+|1073741824)/)
})

/** What the cluster tells objects and pods apart by. */
const identities = (manifests: readonly Manifest[]) =>
  manifests.flatMap(({ kind, metadata }) => [
    `${kind} ${metadata.name}`,
    metadata.labels['app.kubernetes.io/instance']!,
  ])

test('two releases beside each other have no name, selector or rule in common', async () => {
  const [one, other] = [await renderedAs('waf-eu', ...monitored), await renderedAs('waf-us', ...monitored)]
  expect(identities(one).filter((each) => identities(other).includes(each))).toEqual([])
  expect(rulesOf(one).filter(({ expr }) => rulesOf(other).some((each) => each.expr === expr))).toEqual([])
  for (const { metadata } of one) expect(metadata.name).toBe('waf-eu-shieldlog')
  for (const { metadata } of await renderedAs('shieldlog', ...withKey))
    expect(metadata.name).toBe('shieldlog')
})

test('as a subchart, also twice under other names, it shares no name and no selector with its parent', async () => {
  const parent = temporaryFolder()
  cpSync(chart, join(parent, 'charts/shieldlog'), { recursive: true })
  const dependencies = ['eu', 'us'].map((alias) => ({ name: 'shieldlog', version: '0.1.0', alias }))
  writeFileSync(
    join(parent, 'Chart.yaml'),
    JSON.stringify({ apiVersion: 'v2', name: 'platform', version: '1.0.0', dependencies }),
  )
  const set = ['eu', 'us'].map((alias) => `${alias}.existingSecret=keys,${alias}.serviceMonitor.enabled=true`)
  const { stdout } = await runCommand(helm, ['template', 'platform', parent, '--set', set.join()])
  const manifests = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
  expect(new Set(manifests.map(({ metadata }) => metadata.name))).toEqual(
    new Set(['platform-eu', 'platform-us']),
  )
  const own = identities(manifests.filter(({ metadata }) => metadata.name === 'platform-eu'))
  const others = identities(manifests.filter(({ metadata }) => metadata.name === 'platform-us'))
  expect(own.filter((each) => others.includes(each))).toEqual([])
})

test.each([
  ['serviceMonitor.additionalLabels.release=x', 'additionalLabels'],
  ['prometheusRule.thresholds.lag=1', 'lag'],
  ['extraEnv=x', 'extraEnv'],
  ['networkPolicy.ports={https}', 'ports'],
])('a value that the chart does not know is refused: %s', async (set, named) => {
  await expect(rendered(...withKey, '--set', set)).rejects.toThrow(named)
})
