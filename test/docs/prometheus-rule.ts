import { readPage } from './pages.ts'

export const prometheusRulePath = 'config/kubernetes/prometheus-operator/prometheusrule.yaml'

/** The alerts as a resource of the Prometheus operator, which reads no plain rule file. */
export function prometheusRule(): string {
  const alerts = readPage('config/prometheus/alerts.yml')
  const lines = alerts.slice(alerts.indexOf('\ngroups:') + 1).split('\n')
  return `# From config/prometheus/alerts.yml by: npm run docs
# runbook_url is a path in the repository: docs/runbook.md says how to put an address before it.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: shieldlog
spec:
${lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n')}`
}
