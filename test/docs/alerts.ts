import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { projectFolder } from '../setup/project-folder.ts'
import { markdownTable } from './table.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly description: string; readonly runbook_url: string }
}

/** Markdown table of the alerts of `config/prometheus/alerts.yml`. */
export function alertsReference(): string {
  const text = readFileSync(join(projectFolder, 'config/prometheus/alerts.yml'), 'utf8')
  const { groups } = parse(text) as { groups: { rules: Rule[] }[] }
  const rows = groups
    .flatMap(({ rules }) => rules)
    .map((rule) => [
      `[\`${rule.alert}\`](${rule.annotations.runbook_url.replace('docs/', '')})`,
      rule.labels.severity,
      `\`${rule.expr.trim()}\`${rule.for === undefined ? '' : ` for ${rule.for}`}`,
      rule.annotations.description.trim(),
    ])
  return markdownTable(['Alert', 'Severity', 'Condition', 'What it means'], rows)
}
