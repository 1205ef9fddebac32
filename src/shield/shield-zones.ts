import * as z from 'zod'
import { Failure } from '../domain/failure.ts'
import type { ShieldClient } from './client/client.ts'

export interface ListedZone {
  readonly id: number
  /** Empty if the listing has no names; whether it ever has is not known. */
  readonly name: string
  readonly pullZone: number | undefined
  /** In words where the number is known, else the number. */
  readonly plan: string | undefined
  readonly isWafEnabled: boolean | undefined
}

const perPage = 1_000
const mostPages = 1_000

/**
 * Lists the shield zones of an account, deleted ones left out, by id. OUTSIDE the interface that the user described:
 * it follows what is publicly known of the operation, so it accepts any fields and requires only ids. A listing that
 * may be incomplete is a failure, never a shorter list: callers stop reading zones that are no longer listed. Throws
 * Failure.
 */
export async function listShieldZones(client: ShieldClient, signal: AbortSignal): Promise<ListedZone[]> {
  const zones = new Map<number, z.output<typeof WireZone>>()
  for (let page = 1; page <= mostPages; page++) {
    const path = `/shield/shield-zones?page=${page}&perPage=${perPage}`
    const { data, page: place } = await client.get('shield_zones', path, ZonePage, signal)
    const had = zones.size
    for (const zone of data ?? []) zones.set(zone.shieldZoneId, zone)
    const isEmpty = (data ?? []).length === 0
    // The page before named this one: without it the list is a part.
    if (page > 1 && isEmpty) throw broken(`page ${page} is empty`)
    // An empty list has no `page`. Beyond the last page `nextPage` still counts up, so it decides nothing.
    if (isEmpty || (place?.currentPage ?? page) >= (place?.totalPages ?? 0))
      return [...zones.values()].flatMap(zoneOf).toSorted((one, other) => one.id - other.id)
    if (zones.size === had) throw broken(`page ${page} repeats zones of an earlier page`)
  }
  throw broken(`it has more than ${mostPages} pages`)
}

function broken(why: string): Failure {
  return new Failure('retry', 'bad_body', `the list of shield zones is incomplete: ${why}`)
}

const plans = ['Basic', 'Advanced', 'Business', 'Enterprise']

function zoneOf(zone: z.output<typeof WireZone>): ListedZone[] {
  const { shieldZoneId: id, name, pullZoneId, planType, wafEnabled, deletedDateTime } = zone
  if ((deletedDateTime ?? '') !== '') return []
  const plan = typeof planType === 'number' ? (plans[planType] ?? String(planType)) : undefined
  return [
    { id, name: name ?? '', pullZone: pullZoneId ?? undefined, plan, isWafEnabled: wafEnabled ?? undefined },
  ]
}

/** A field that is not as expected counts as absent; without an id a zone cannot be read. */
function lenient<T>(schema: z.ZodType<T>) {
  return schema.nullish().catch(undefined)
}

const WireZone = z.looseObject({
  shieldZoneId: z.int().min(1),
  // One that can be shown.
  name: lenient(z.string().regex(/^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,253}$/u)),
  pullZoneId: lenient(z.int()),
  planType: lenient(z.int()),
  wafEnabled: lenient(z.boolean()),
  deletedDateTime: lenient(z.string()),
})

const ZonePage = z.looseObject({
  data: z.array(WireZone).nullish(),
  page: z.looseObject({ currentPage: lenient(z.int()), totalPages: z.int().min(0) }).nullish(),
})
