/** Gauges of figures that the API gives besides event logs, without the prefix of metrics. */
export const figureMetrics = [
  'upload_scanning_files_scanned',
  'upload_scanning_requests',
  'volume_size_bytes',
  'volume_usage_bytes',
  'volume_fullest_ratio',
] as const

/** One value. What the API leaves out has none, never 0. */
export interface Figure {
  readonly metric: (typeof figureMetrics)[number]
  /** Besides the zone or the application. */
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** A container application, and the account whose key reads it. */
export interface App {
  readonly id: string
  readonly account: string
}

/** Whose figures: one zone's upload scanning, or the volumes of one application. */
export type FiguresOf = { readonly zone: number } | { readonly app: string }
