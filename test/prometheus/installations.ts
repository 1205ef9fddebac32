type Labels = Readonly<Record<string, string>>

/** A metric without the labels of its target, with its values in the notation of promtool, one a minute. */
type Series = readonly [metric: string, labels: Labels, values: string]

interface Condition {
  readonly sick: readonly Series[]
  readonly healthy: readonly Series[]
  readonly atMinute: number
  /** Labels of the alert besides those of the target. */
  readonly labels: Labels
  /** The alert is about one process: it has the label `instance`. Otherwise the text alone names processes. */
  readonly ofProcess?: true
  /** The summary after the name of the installation. */
  readonly says: string
}

const route = { zone: '101', sink: 'siem' }
const [siem, account] = [{ sink: 'siem' }, { account: 'default' }]

/** The same metric of both, with other values. */
const gauge = (metric: string, labels: Labels, sick: string, healthy: string) => ({
  sick: [[metric, labels, sick] as const],
  healthy: [[metric, labels, healthy] as const],
})

const requests = 'shieldlog_sink_requests_total'
const asked = 'shieldlog_api_requests_total'
const [ok, failed] = [{ outcome: 'ok' }, { outcome: 'server_error' }]
const old: Series = ['process_start_time_seconds', {}, '-7200x1700']
const build: Series = ['shieldlog_build_info', { version: '1' }, '1x100 stale']
const pace: Series = ['shieldlog_sink_pace_seconds', siem, '30x60']
const lag: Series = ['shieldlog_zone_lag_seconds', route, '5x1700']

/** What makes each alert fire for one of two installations. */
export const conditions: Readonly<Record<string, Condition>> = {
  ShieldlogLag: {
    sick: [['shieldlog_zone_lag_seconds', route, '960x60'], pace],
    healthy: [['shieldlog_zone_lag_seconds', route, '5x60'], pace],
    atMinute: 32,
    labels: route,
    says: 'zone 101 → siem is 16m 0s behind',
  },
  ShieldlogLossIsNear: {
    ...gauge('shieldlog_time_to_loss_seconds', route, '9600x60', '90000x60'),
    atMinute: 32,
    labels: route,
    says: 'zone 101 → siem: the API answers for an unfinished day for 2h 40m 0s more',
  },
  ShieldlogGap: {
    ...gauge('shieldlog_gaps', route, '2x60', '0x60'),
    atMinute: 32,
    labels: route,
    says: 'zone 101 → siem: lost events, which the API no longer lists',
  },
  ShieldlogDeadLetters: {
    ...gauge('shieldlog_dead_letters', siem, '7x60', '0x60'),
    atMinute: 32,
    labels: siem,
    says: 'sink siem has refused 7 events',
  },
  ShieldlogEventsLost: {
    sick: [['shieldlog_events_lost_total', siem, '0x20 3x40'], old],
    healthy: [['shieldlog_events_lost_total', siem, '0x60'], old],
    atMinute: 32,
    labels: siem,
    ofProcess: true,
    says: 'the destination of sink siem dropped events of bodies that it acknowledged',
  },
  ShieldlogEventsSkipped: {
    sick: [['shieldlog_events_skipped_total', { ...route, reason: 'too_old' }, '0x1500 9x200'], lag, old],
    healthy: [['shieldlog_events_skipped_total', { ...route, reason: 'too_old' }, '0x1700'], lag, old],
    atMinute: 1520,
    labels: { ...route, reason: 'too_old' },
    ofProcess: true,
    says: 'zone 101 → siem: events were too old for the destination and are not there',
  },
  ShieldlogEntriesUnexpected: {
    ...gauge('shieldlog_entries_unexpected_total', { zone: '101', kind: 'labels' }, '0x20 3x40', '0x60'),
    atMinute: 32,
    labels: { kind: 'labels' },
    ofProcess: true,
    says: 'the API lists entries that shieldlog does not know (labels)',
  },
  ShieldlogSinkFails: {
    sick: [
      [requests, { ...siem, ...ok }, '0x60'],
      [requests, { ...siem, ...failed }, '0+1x60'],
    ],
    // Much more goes well here than fails there.
    healthy: [
      [requests, { ...siem, ...ok }, '0+100x60'],
      [requests, { ...siem, ...failed }, '0x60'],
    ],
    atMinute: 40,
    labels: siem,
    says: 'sink siem refuses events, or fails more often than it accepts them',
  },
  ShieldlogKeyRefused: {
    ...gauge(asked, { ...account, operation: 'event_logs', outcome: 'unauthorised' }, '0x5 1+1x55', '0x60'),
    atMinute: 40,
    labels: account,
    says: 'the API refuses the access key of account default',
  },
  ShieldlogThrottled: {
    ...gauge('shieldlog_api_throttled_total', account, '0+6x60', '0x60'),
    atMinute: 40,
    labels: account,
    says: 'the API throttles account default',
  },
  ShieldlogDiskNearlyFull: {
    sick: [
      ['shieldlog_sink_free_bytes', siem, '5e8x60'],
      ['shieldlog_sink_size_bytes', siem, '1e12x60'],
    ],
    healthy: [
      ['shieldlog_sink_free_bytes', siem, '9e11x60'],
      ['shieldlog_sink_size_bytes', siem, '1e12x60'],
    ],
    atMinute: 32,
    labels: siem,
    ofProcess: true,
    says: 'the disk of file sink siem is nearly full',
  },
  ShieldlogStateDown: {
    ...gauge('shieldlog_state_up', {}, '0x60', '1x60'),
    atMinute: 32,
    labels: {},
    ofProcess: true,
    says: 'the state does not answer, or cannot be written',
  },
  ShieldlogUnseen: {
    // In one job a process that tells the same routes would be its successor.
    sick: [['shieldlog_zone_lag_seconds', route, '5x100 stale']],
    healthy: [['shieldlog_zone_lag_seconds', { ...route, zone: '201' }, '5x200']],
    atMinute: 152,
    labels: {},
    ofProcess: true,
    says: 'no process exports the lag of shieldlog',
  },
  ShieldlogDown: {
    // It stays told when it has not answered for longer than the rule looks back.
    sick: [['up', {}, '1x100 0x1600'], build],
    healthy: [
      ['up', {}, '1x1700'],
      ['shieldlog_build_info', { version: '1' }, '1x1700'],
    ],
    atMinute: 1652,
    labels: {},
    ofProcess: true,
    says: 'shieldlog does not answer',
  },
  ShieldlogClock: {
    ...gauge('shieldlog_clock_skew_seconds', account, '-90x60', '1x60'),
    atMinute: 32,
    labels: account,
    ofProcess: true,
    says: 'the clock of this host differs from the clock of the API by 90 s',
  },
}

/** How the labels of two installations may differ, the sick one first. */
export const pairs: Readonly<Record<string, readonly [sick: Labels, healthy: Labels]>> = {
  'of two jobs': [
    { job: 'waf-b', namespace: 'eu', instance: 'host:9871' },
    { job: 'waf-a', namespace: 'eu', instance: 'host:9871' },
  ],
  'of one job in two namespaces': [
    { job: 'shipper', namespace: 'us', instance: 'waf-0' },
    { job: 'shipper', namespace: 'eu', instance: 'waf-0' },
  ],
  'of one job on two hosts': [
    { job: 'shipper', instance: 'b:9871' },
    { job: 'shipper', instance: 'a:9871' },
  ],
}

/** A test of promtool: of the pair, the alert fires for the sick installation and names it. */
export function testOf(
  {
    alert,
    severity,
    description,
    runbook,
  }: Readonly<Record<'alert' | 'severity' | 'description' | 'runbook', string>>,
  [sick, healthy]: readonly [Labels, Labels],
) {
  const condition = conditions[alert]!
  const { instance = '', ...others } = sick
  const seriesOf = (target: Labels, series: readonly Series[]) =>
    series.map(([metric, labels, values]) => {
      const pairs = Object.entries({ ...target, ...labels }).map(([name, value]) => `${name}="${value}"`)
      return { series: `${metric}{${pairs.join(',')}}`, values }
    })
  const { job, namespace } = sick
  const name = `${job}${namespace === undefined ? '' : ` in ${namespace}`}, ${instance}:`
  const labels = condition.ofProcess === true ? sick : others
  return {
    interval: '1m',
    input_series: [...seriesOf(sick, condition.sick), ...seriesOf(healthy, condition.healthy)],
    alert_rule_test: [
      {
        alertname: alert,
        eval_time: `${condition.atMinute}m`,
        exp_alerts: [
          {
            exp_labels: { severity, ...labels, ...condition.labels },
            exp_annotations: { summary: `${name} ${condition.says}`, description, runbook_url: runbook },
          },
        ],
      },
    ],
  }
}
