import { readFileSync } from 'node:fs'
import { test } from 'vitest'
import { dayOf, shiftDay, startOf } from '../../src/domain/day.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { waitFor } from '../setup/wait-for.ts'
import { ask, askJson } from './intake.ts'
import { expectShipped, placeFor } from './place.ts'
import { newTenant, startLoki } from './servers/loki.ts'

interface Target {
  readonly expr: string
  readonly queryType: 'instant' | 'range'
}

const { panels } = JSON.parse(
  readFileSync(`${projectFolder}config/grafana/shieldlog-events.json`, 'utf8'),
) as { panels: readonly { readonly title: string; readonly targets: readonly Target[] }[] }

test('each panel of the dashboard of events gets data from Loki', async () => {
  const url = await startLoki()
  const tenant = newTenant()
  const place = await placeFor({ type: 'http', preset: 'loki', url, tenant })
  await expectShipped(place)
  await ask(`${url}/flush`, { method: 'POST', headers: { 'x-scope-orgid': tenant } })
  for (const { title, targets } of panels)
    for (const target of targets)
      await waitFor(async () => (await resultOf(url, tenant, target)).length > 0, {
        everyMs: 500,
        what: `data for the panel ${title}`,
      })
})

/** As Grafana asks, for the last three days and all zones. Throws where Loki cannot read the query. */
async function resultOf(
  url: string,
  tenant: string,
  { expr, queryType }: Target,
): Promise<readonly unknown[]> {
  const [fromMs, toMs] = [startOf(shiftDay(dayOf(Date.now()), -2)), Date.now()]
  const query = expr
    .replaceAll('$__range', `${Math.ceil((toMs - fromMs) / 1000)}s`)
    .replaceAll('$__auto', '1h')
    .replaceAll('$job', 'shieldlog')
    .replaceAll('$zone', '.*')
  const when: Record<string, string> =
    queryType === 'instant'
      ? { time: `${toMs}000000` }
      : { start: `${fromMs}000000`, end: `${toMs}000000`, step: '1h', limit: '200' }
  const path = queryType === 'instant' ? 'query' : 'query_range'
  const parameters = new URLSearchParams({ query, ...when })
  const found = (await askJson(`${url}/loki/api/v1/${path}?${parameters.toString()}`, {
    headers: { 'x-scope-orgid': tenant },
  })) as { data: { result: readonly unknown[] } }
  return found.data.result
}
