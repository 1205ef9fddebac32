/** What was done with a request, in the terms of each schema. */
export interface Disposition {
  /** ECS `event.type`. */
  readonly ecs: readonly string[]
  /** OCSF `action_id` and `disposition_id`. */
  readonly ocsf: { readonly action: number; readonly disposition: number }
  readonly isDenied: boolean
}

const denied: Disposition = {
  ecs: ['access', 'denied'],
  ocsf: { action: 2, disposition: 2 },
  isDenied: true,
}
const allowed: Disposition = {
  ecs: ['access', 'allowed'],
  ocsf: { action: 1, disposition: 1 },
  isDenied: false,
}
const challenged: Disposition = {
  ecs: ['access', 'info'],
  ocsf: { action: 0, disposition: 23 },
  isDenied: false,
}
const unknown: Disposition = { ecs: ['info'], ocsf: { action: 99, disposition: 99 }, isDenied: false }
const absent: Disposition = { ecs: ['info'], ocsf: { action: 0, disposition: 0 }, isDenied: false }

/** By the action in lower case, letters only. Only `Blocked` has been seen; the others are documented actions. */
const known = new Map<string, Disposition>([
  ...each(['blocked', 'block', 'ratelimited', 'ratelimit'], denied),
  ...each(['logged', 'log'], { ...allowed, ocsf: { action: 3, disposition: 17 } }),
  ...each(['detected', 'detect'], { ...allowed, ocsf: { action: 3, disposition: 15 } }),
  ...each(['challenged', 'challenge'], challenged),
  ...each(['captcha'], { ...challenged, ocsf: { action: 0, disposition: 22 } }),
  ...each(['allowed', 'allow'], allowed),
  ...each(['bypassed', 'bypass'], { ...allowed, ocsf: { action: 1, disposition: 16 } }),
])

export function dispositionOf(action: string | undefined): Disposition {
  if (action === undefined) return absent
  return known.get(action.toLowerCase().replaceAll(/[^a-z]/g, '')) ?? unknown
}

function each(names: readonly string[], disposition: Disposition): [string, Disposition][] {
  return names.map((name) => [name, disposition])
}
