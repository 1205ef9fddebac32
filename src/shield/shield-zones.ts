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
  const zones = new Map<number, WireZone>()
  for (let page = 1; page <= mostPages; page++) {
    const path = `/shield/shield-zones?page=${page}&perPage=${perPage}`
    const { data, page: place } = await client.get('shield_zones', path, ZonePage, signal)
    const known = zones.size
    for (const zone of data ?? []) zones.set(zone.shieldZoneId, zone)
    // The page before named this one: without it the list is a part.
    if (page > 1 && (data ?? []).length === 0) throw broken(`page ${page} is empty`)
    if (isLast(data ?? [], place, page))
      return [...zones.values()].flatMap(zoneOf).toSorted((one, other) => one.id - other.id)
    if (zones.size === known) throw broken(`page ${page} repeats zones of an earlier page`)
  }
  throw broken(`it has more than ${mostPages} pages`)
}

/** An empty list has no `page`. Beyond the last page `nextPage` still counts up, so it decides nothing. */
function isLast(data: readonly WireZone[], place: ZonePage['page'], page: number): boolean {
  if (data.length === 0 || place === null || place === undefined) return true
  return (place.currentPage ?? page) >= place.totalPages
}

function broken(why: string): Failure {
  return new Failure('retry', 'bad_body', `the list of shield zones is incomplete: ${why}`)
}

const plans = ['Basic', 'Advanced', 'Business', 'Enterprise']

function zoneOf(zone: WireZone): ListedZone[] {
  const { shieldZoneId, name, pullZoneId, planType, wafEnabled, deletedDateTime } = zone
  if (typeof deletedDateTime === 'string' && deletedDateTime !== '') return []
  return [
    {
      id: shieldZoneId,
      name: isShowable(name ?? '') ? (name ?? '') : '',
      pullZone: pullZoneId ?? undefined,
      plan: planType === null || planType === undefined ? undefined : (plans[planType] ?? String(planType)),
      isWafEnabled: wafEnabled ?? undefined,
    },
  ]
}

const longestName = 253

function isShowable(text: string): boolean {
  return text.trim() !== '' && text.length <= longestName && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text)
}

/** A field that is not as expected counts as absent; without an id a zone cannot be read. */
function lenient<T>(schema: z.ZodType<T>) {
  return schema.nullish().catch(undefined)
}

const WireZone = z.looseObject({
  shieldZoneId: z.int().min(1),
  name: lenient(z.string()),
  pullZoneId: lenient(z.int()),
  planType: lenient(z.int()),
  wafEnabled: lenient(z.boolean()),
  deletedDateTime: lenient(z.string()),
})
type WireZone = z.output<typeof WireZone>

const ZonePage = z.looseObject({
  data: z.array(WireZone).nullish(),
  page: z.looseObject({ currentPage: lenient(z.int()), totalPages: z.int().min(0) }).nullish(),
})
type ZonePage = z.output<typeof ZonePage>
