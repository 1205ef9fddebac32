import type { App } from '../../domain/figures.ts'
import { nearest } from '../../domain/text/nearest.ts'
import type { ConfigFile, MetricsConfig } from '../schema/schema.ts'
import type { Report } from '../schema/config-errors.ts'
import type { Path } from '../schema/path.ts'

/** The name of the account that api.accessKey and zones stand for. */
const shortForm = 'default'

/** Finds the account of each application; one must be named where there are several. */
export function resolveMetrics({ metrics, accounts }: ConfigFile, report: Report): MetricsConfig {
  const { uploadScanning, volumes } = metrics
  const known = accounts.length === 0 ? [shortForm] : accounts.map(({ name }) => name)
  const claim: Claim = { known, ids: new Set(), report }
  const apps = (volumes?.apps ?? []).map((setting, index) =>
    appOf(
      typeof setting === 'string' ? { id: setting } : setting,
      ['metrics', 'volumes', 'apps', index],
      claim,
    ),
  )
  return {
    ...(uploadScanning !== undefined && { uploadScanning }),
    ...(volumes !== undefined && { volumes: { ...volumes, apps } }),
  }
}

interface Claim {
  readonly known: readonly string[]
  readonly ids: Set<string>
  readonly report: Report
}

function appOf(
  { id, account }: { readonly id: string; readonly account?: string | undefined },
  at: Path,
  { known, ids, report }: Claim,
): App {
  if (ids.has(id))
    report(at, {
      value: JSON.stringify(id),
      problem: 'is listed twice',
      remedy: 'name each application once',
    })
  ids.add(id)
  if (account === undefined && known.length > 1)
    report(at, {
      value: JSON.stringify(id),
      problem: 'names no account, and there are several',
      remedy: `write { id: ${id}, account: NAME }, with one of: ${known.join(', ')}`,
    })
  if (account !== undefined && !known.includes(account)) {
    const near = nearest(account, known)
    report([...at, 'account'], {
      value: JSON.stringify(account),
      problem: 'is not the name of an account',
      remedy: near === undefined ? `write one of: ${known.join(', ')}` : `did you mean ${near}?`,
    })
  }
  return { id, account: account ?? known[0]! }
}
