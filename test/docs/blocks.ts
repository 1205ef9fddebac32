import { commandsReference } from './commands.ts'
import { configMarkdown } from './config.ts'
import { formatTables } from './formats.ts'
import {
  alertsTable,
  answersTable,
  costBlocks,
  eventsTable,
  exitCodesTable,
  figureBlocks,
  metricsTable,
  presetsTable,
} from './tables.ts'
import { readPage } from './pages.ts'

/** Markdown that the code itself gives, by the name of its block in a page. */
export async function generatedBlocks(): Promise<Readonly<Record<string, string>>> {
  return {
    alerts: alertsTable(),
    answers: answersTable(),
    commands: await commandsReference(),
    config: configMarkdown(),
    events: eventsTable(),
    'exit-codes': exitCodesTable(),
    presets: presetsTable(),
    ...costBlocks(),
    ...figureBlocks(),
    ...formatTables(),
    metrics: metricsTable(),
  }
}

const block = /(<!-- BEGIN ([a-z-]+)[^>]*-->\n)([\s\S]*?)(<!-- END \2 -->)/g

/** The text with each block that is known filled anew; others, such as figures that were measured, stay. */
export function fillBlocks(text: string, blocks: Readonly<Record<string, string>>): string {
  return text.replaceAll(block, (whole: string, begin: string, name: string, _body: string, end: string) =>
    Object.hasOwn(blocks, name) ? `${begin}${blocks[name]}\n${end}` : whole,
  )
}

/** Names of all blocks of a text. */
export function blockNames(text: string): string[] {
  return [...text.matchAll(block)].map(([, , name = '']) => name)
}

export const prometheusRulePath = 'config/kubernetes/prometheus-operator/prometheusrule.yaml'

/** The alerts as a resource of the Prometheus operator, which reads no plain rule file. */
export function prometheusRule(): string {
  const alerts = readPage('config/prometheus/alerts.yml')
  const lines = alerts.slice(alerts.indexOf('\ngroups:') + 1).split('\n')
  return `# From config/prometheus/alerts.yml by: npm run docs
# runbook_url is a path in the repository: docs/troubleshooting.md says how to put an address before it.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: shieldlog
spec:
${lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n')}`
}
