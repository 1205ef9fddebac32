/** Figures that the API gives besides event logs, for metrics. What it leaves out is absent, never 0. */

/** Of one zone, over the past 28 days. */
export interface UploadFigures {
  readonly filesScanned?: number | undefined
  readonly loggedRequests?: number | undefined
  readonly blockedRequests?: number | undefined
}

/** The instances of one volume in one region. */
export interface VolumeFigures {
  readonly volume: string
  readonly region: string
  /** Sums over the instances. */
  readonly sizeBytes?: number | undefined
  readonly usageBytes?: number | undefined
  /** The used share of the fullest instance, 0 to 1, or more where the API says so. */
  readonly fullestRatio?: number | undefined
}

/** A container application, and the account whose key reads it. */
export interface App {
  readonly id: string
  readonly account: string
}

/** Whose figures: one zone's upload scanning, or the volumes of one application. */
export type FiguresOf = { readonly zone: number } | { readonly app: string }
