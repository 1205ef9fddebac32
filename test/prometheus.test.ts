import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../src/config/load.ts'
import { stateMetrics } from '../src/telemetry/metrics/metrics.ts'
import { networksOf, readComposeFile } from './compose/compose-file.ts'
import { readPage } from './docs/pages.ts'
import { expectExported, metrics } from './prometheus/exported-metrics.ts'
import { groupedBy, labelsInText, metricsIn } from './prometheus/expressions.ts'
import { conditions, pairs, testOf } from './prometheus/installations.ts'
import { promtoolAvailable } from './setup/available.ts'
import { projectFolder } from './setup/project-folder.ts'
import { runCommand } from './setup/run-command.ts'
import { temporaryFolder } from './setup/temp.ts'

const folder = join(projectFolder, 'config/prometheus')
const cases = join(projectFolder, 'test/prometheus/alert-cases.yml')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: {
    readonly summary: string
    readonly description: string
    readonly runbook_url: string
  }
}

const alerts = parse(readFileSync(join(folder, 'alerts.yml'), 'utf8')) as { groups: { rules: Rule[] }[] }
const rules = alerts.groups.flatMap((group) => group.rules)

const shared = new Set<string>(Object.keys(stateMetrics).map((name) => `shieldlog_${name}`))
/** What tells the worst of several processes. */
const worst = (metric: string) => (metric === 'shieldlog_time_to_loss_seconds' ? 'min' : 'max')
/** What it tells is of one process. */
const perProcess = 'shieldlog_state_up'
/** What Prometheus itself puts on every series: of these, what differs between the processes of an installation. */
const ofOneProcess = 'instance, pod, role'
const scraped = [
  ...ofOneProcess.split(', '),
  'exported_zone',
  'job',
  'version',
  'alertname',
  'alertstate',
  'severity',
]

test('each has its entry in the docs: what it means, how to look by a command, what to do', () => {
  const [, ...entries] = readPage('docs/troubleshooting.md').split(/^### /m)
  expect(entries.map((entry) => entry.split('\n')[0])).toEqual(rules.map(({ alert }) => alert))
  for (const [at, { alert, annotations }] of rules.entries()) {
    expect(annotations.runbook_url).toBe(`docs/troubleshooting.md#${alert.toLowerCase()}`)
    expect(entries[at], alert).toMatch(/\*\*Means\.\*\* .{30}[^]*\*\*Look\.\*\* [^]*```sh\n[^]*\*\*Do\.\*\*/)
  }
})

describe.each(rules)('$alert', ({ expr, annotations }) => {
  const asked = metricsIn(expr)

  test('uses metrics, labels and values that exist', () => {
    expect(asked.length).toBeGreaterThan(0)
    expectExported(asked)
    const labels = asked.flatMap(({ metric }) => Object.keys(metrics.get(metric)?.labels ?? {}))
    for (const label of groupedBy(expr)) expect([...labels, ...scraped]).toContain(label)
  })

  test('keeps the labels of its installation, and its text uses labels that the alert has', () => {
    expect(expr).not.toMatch(/\bby \(/)
    const labels = asked.flatMap(({ metric }) => Object.keys(metrics.get(metric)?.labels ?? {}))
    const known = [...labels, 'job', 'namespace', 'instance']
    for (const label of labelsInText(annotations.summary + annotations.description))
      expect(known).toContain(label)
    expect(annotations.summary).toContain('{{ with $labels.namespace }}')
  })

  test('counts what is read from the store once for all processes of an installation', () => {
    // What was there before is compared route by route.
    const now = asked.filter(({ metric }) => shared.has(metric) && !expr.includes(`${metric} offset`))
    for (const { metric } of now.filter(({ metric }) => metric !== perProcess)) {
      const around = expr.slice(0, expr.indexOf(metric))
      expect(around).toMatch(new RegExp(`${worst(metric)} without \\(${ofOneProcess}\\) \\($`))
    }
  })
})

describe('prometheus.yml', () => {
  const config = parse(readFileSync(join(folder, 'prometheus.yml'), 'utf8')) as {
    rule_files: string[]
    scrape_configs: { dns_sd_configs: { names: string[]; port: number }[] }[]
  }
  const found = config.scrape_configs.flatMap((each) => each.dns_sd_configs)
  const names = found.flatMap((each) => each.names)

  test.each(['ship', 'demo'])('finds scheduler and workers of the profile %s', (profile) => {
    const { services } = readComposeFile()
    const prometheus = networksOf(services['prometheus']!)
    const processes = Object.entries(services).filter(([name, service]) => {
      const answersTo = [...networksOf(service)].flatMap(([network, aliases]) =>
        prometheus.has(network) ? [name, ...aliases] : [],
      )
      return service.profiles?.includes(profile) === true && answersTo.some((each) => names.includes(each))
    })
    const roles = processes.map(([, { command }]) => String(command?.at(-1)))
    expect(roles.toSorted()).toEqual(['scheduler', 'worker'])
  })

  test('scrapes the paths of the server, and has the rules next to it', () => {
    const env = { SHIELDLOG_API_ACCESS_KEY: 'k', SHIELDLOG_ZONES: '1' }
    const { port } = loadConfig({ env, cwd: temporaryFolder() }).config.server
    expect(found.map((each) => each.port)).toEqual([port])
    expect(config.rule_files).toEqual(['alerts.yml'])
  })
})

interface PromtoolTest {
  readonly alert_rule_test: readonly { readonly alertname: string }[]
}

/** Each over the rules that it asks about: promtool works out all that it is given. */
async function expectFiring(tests: readonly PromtoolTest[], interval: string): Promise<void> {
  const cwd = temporaryFolder()
  const files = tests.map((each, index) => {
    const asked = new Set(each.alert_rule_test.map(({ alertname }) => alertname))
    const some = rules.filter(({ alert }) => asked.has(alert))
    const [ruleFile, testFile] = [`rules-${index}.yml`, `test-${index}.yml`]
    writeFileSync(join(cwd, ruleFile), JSON.stringify({ groups: [{ name: 'shieldlog', rules: some }] }))
    const file = { rule_files: [ruleFile], evaluation_interval: interval, tests: [each] }
    writeFileSync(join(cwd, testFile), JSON.stringify(file))
    return testFile
  })
  await runCommand('promtool', ['test', 'rules', ...files], { cwd })
}

test.skipIf(!promtoolAvailable())(
  'promtool accepts rules and configuration, and the alerts fire as expected',
  async () => {
    const place = temporaryFolder()
    for (const name of ['alerts.yml', 'prometheus.yml']) copyFileSync(join(folder, name), join(place, name))
    await runCommand('promtool', ['check', 'config', 'prometheus.yml'], { cwd: place })
    await expectFiring((parse(readFileSync(cases, 'utf8')) as { tests: PromtoolTest[] }).tests, '1m')
  },
)

test.skipIf(!promtoolAvailable())(
  'of two installations the healthy one hides no alert about the sick one, and the text names the sick one',
  async () => {
    // The figures of one application are the same, whichever installation reads them.
    const told = rules.filter(({ alert }) => !/VolumeNearlyFull|FiguresOld/.test(alert))
    expect(Object.keys(conditions).toSorted()).toEqual(told.map(({ alert }) => alert).toSorted())
    const tests = told.flatMap(({ alert, labels, annotations: { description, runbook_url: runbook } }) =>
      Object.values(pairs).map((pair) =>
        testOf({ alert, severity: labels.severity, description, runbook }, pair),
      ),
    )
    await expectFiring(tests, '4m')
  },
)
