import { type Needs, checkSinks, resolveAccounts, resolvePoll } from './checks.ts'
import type { Report } from '../schema/config-errors.ts'
import { resolveMetrics } from './resolve-metrics.ts'
import type { Config, ConfigFile, SinkConfig } from '../schema/schema.ts'
import { resolveState } from '../schema/state.ts'

export interface Resolution {
  readonly cwd: string
  readonly needs: Needs
  readonly serverConfigured: boolean
  readonly report: Report
}

/** Checks the dependencies between settings that are valid one by one; undefined after a report. */
export function resolveConfig(settings: ConfigFile, on: Resolution): Config | undefined {
  const { redact, workers, deadLetters, log } = settings
  const { accessKey: _key, accessKeyFile: _keyFile, ...api } = settings.api
  const { tokenFile: _tokenFile, ...server } = settings.server
  const accounts = resolveAccounts(settings, on.needs, on.report)
  const poll = resolvePoll(settings.poll, on.report)
  const state = resolveState(
    settings.state,
    { cwd: on.cwd, readableDays: settings.poll.readableDays },
    on.report,
  )
  checkSinks(settings.sinks, on.report)
  const metrics = resolveMetrics(settings, on.report)
  if (state === undefined) return undefined
  return {
    accounts,
    api,
    poll,
    redact,
    state,
    workers,
    sinks: settings.sinks.length === 0 ? [defaultSink] : settings.sinks,
    deadLetters,
    server: { ...server, configured: on.serverConfigured },
    metrics,
    log,
  }
}

export const defaultSink: SinkConfig = { type: 'stdout', name: 'stdout', format: 'native' }
