/** `note`: worth knowing, and no problem. */
export type Mark = 'ok' | 'note' | 'fail'

/** One line of `check`. */
export interface Finding {
  /** What was tried; empty where the line belongs to the step above. */
  readonly step: string
  readonly mark: Mark
  readonly text: string
  /** Indented below the step above. */
  readonly isPart?: boolean
  /** Explains a problem that the step above counts already. */
  readonly isCounted?: false
}

export function problemsIn(findings: readonly Finding[]): number {
  return findings.filter(({ mark, isCounted }) => mark === 'fail' && isCounted !== false).length
}
