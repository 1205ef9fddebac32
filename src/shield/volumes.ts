import type { ShieldClient } from './client/client.ts'
import { pathSegment } from './client/path-segment.ts'
import { readAs } from './client/read-as.ts'
import { VolumeList, type VolumeTemplate } from './schema.ts'

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
 * id, and a repeated cursor ends the reading. Throws Failure.
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
    for (const item of list.items ?? []) items.set(item.id ?? JSON.stringify(item), item)
    cursor = list.cursor ?? ''
    if ((list.items ?? []).length === 0 || cursor === '')
      return { items: [...items.values()], summary, isWhole: true }
    if (cursors.has(cursor)) break
    cursors.add(cursor)
  }
  return { items: [...items.values()], summary, isWhole: items.size >= expected }
}

async function readList(
  client: ShieldClient,
  appId: string,
  cursor: string,
  signal: AbortSignal,
): Promise<VolumeList> {
  const query = cursor === '' ? '' : `?nextCursor=${encodeURIComponent(cursor.toWellFormed())}`
  const { value, release } = await client.send(
    {
      operation: 'volumes',
      method: 'GET',
      path: `/mc/apps/${pathSegment(appId)}/volumes${query}`,
      read: (body) => readAs(VolumeList, body, 'list of volumes'),
    },
    signal,
  )
  release()
  return value
}
