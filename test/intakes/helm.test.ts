import {
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { ConfigMap, Secret, Service } from 'kubernetes-models/v1'
import { readFileSync, writeFileSync } from 'node:fs'
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
const models = { StatefulSet, Service, ConfigMap, Secret, NetworkPolicy, ServiceMonitor, PrometheusRule }

interface Manifest {
  readonly kind: keyof typeof models
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: object
}

async function rendered(...set: string[]): Promise<Manifest[]> {
  const { stdout } = await runCommand(helm, ['template', 'waf', chart, ...set])
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
}

test('the schemas of Kubernetes accept everything that the chart renders, and its settings load', async () => {
  const cwd = temporaryFolder()
  const key = join(cwd, 'access-key')
  writeFileSync(key, 'the key')
  const all = [
    '--set',
    'serviceMonitor.enabled=true,prometheusRule.enabled=true',
    '--set',
    'config.zones={101,102}',
  ]
  const manifests = await rendered(...all, '--set-file', `secrets.access-key=${key}`)
  for (const manifest of manifests) new models[manifest.kind](manifest as never).validate()
  expect(manifests.map(({ kind }) => kind).toSorted()).toEqual(Object.keys(models).toSorted())
  const rule = manifests.find(({ kind }) => kind === 'PrometheusRule')
  expect(rule!.spec).toEqual(parse(readFileSync(join(projectFolder, 'config/prometheus/alerts.yml'), 'utf8')))
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
