import * as z from 'zod'
import type { ShieldClient } from './client/client.ts'
import { pathSegment } from './client/client.ts'

const text = z.string().nullish()
const number = z.number().nullish()

/** Sizes and usage in GB. The state is called `set` in the description of the interface and `status` in newer ones. */
const VolumeInstance = z.looseObject({
  id: text,
  attachedPods: z.array(z.string()).nullish(),
  attachedContainers: z.array(z.string()).nullish(),
  region: text,
  size: number,
  usage: number,
  set: text,
  status: z.union([z.string(), z.number()]).nullish(),
})
export type VolumeInstance = z.output<typeof VolumeInstance>

const VolumeTemplate = z.looseObject({
  name: text,
  id: text,
  size: number,
  totalUsage: number,
  totalInstancesCount: number,
  attachedInstancesCount: number,
  containersCount: number,
  volumeInstances: z.array(VolumeInstance).nullish(),
})
export type VolumeTemplate = z.output<typeof VolumeTemplate>

const VolumeList = z.looseObject({
  items: z.array(VolumeTemplate).nullish(),
  meta: z.looseObject({ totalItems: number }).nullish(),
  cursor: text,
  summary: z.looseObject({ totalPods: number, totalContainers: number, totalStorage: number }).nullish(),
})
type VolumeList = z.output<typeof VolumeList>

export interface Volumes {
  readonly items: readonly VolumeTemplate[]
  /** From the first page. */
  readonly summary: VolumeList['summary']
  /** False when reading stopped before the end of the listing, or when the end is uncertain. */
  readonly isWhole: boolean
}

const mostPages = 1_000

/**
 * Reads all volumes of an application. That the next page is requested by the query `nextCursor` is an assumption,
 * taken from the related lists. If the API ignores it, the first page comes again: items are therefore deduplicated by
 * id, and a cursor that repeats, or a page that brings nothing new, ends the reading. Throws Failure.
 */
export async function listVolumes(
  client: ShieldClient,
  appId: string,
  signal: AbortSignal,
): Promise<Volumes> {
  const items = new Map<string, VolumeTemplate>()
  const cursors = new Set<string>()
  let summary: VolumeList['summary']
  let expected = Number.POSITIVE_INFINITY
  let cursor = ''
  for (let page = 0; page < mostPages; page++) {
    const list = await readList(client, appId, cursor, signal)
    if (page === 0) {
      summary = list.summary
      expected = list.meta?.totalItems ?? expected
    }
    const known = items.size
    for (const item of list.items ?? []) items.set(item.id ?? JSON.stringify(item), item)
    cursor = list.cursor ?? ''
    if ((list.items ?? []).length === 0 || cursor === '')
      return { items: [...items.values()], summary, isWhole: true }
    if (cursors.has(cursor) || items.size === known) break
    cursors.add(cursor)
  }
  return { items: [...items.values()], summary, isWhole: items.size >= expected }
}

/** What the instance is doing, in the API's word, such as `Attached`. */
export function stateOf({ status, set }: VolumeInstance): string {
  return String(status ?? set ?? '')
}

function readList(
  client: ShieldClient,
  appId: string,
  cursor: string,
  signal: AbortSignal,
): Promise<VolumeList> {
  const query = cursor === '' ? '' : `?nextCursor=${encodeURIComponent(cursor.toWellFormed())}`
  return client.get('volumes', `/mc/apps/${pathSegment(appId)}/volumes${query}`, VolumeList, signal)
}
