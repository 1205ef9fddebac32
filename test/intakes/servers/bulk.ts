import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../../setup/project-folder.ts'
import { askJson, type Intake } from '../intake.ts'

/** What the `_bulk` servers share: ids of the events of all documents, so that a second one is seen. */
export async function documentsOf(
  url: string,
  index: string,
  headers: Record<string, string> = {},
): Promise<string[]> {
  await askJson(`${url}/${index}/_refresh`, { method: 'POST', headers })
  const ids: string[] = []
  let after: unknown[] | undefined
  for (;;) {
    const page = (await askJson(`${url}/${index}/_search`, {
      method: 'POST',
      headers,
      body: {
        size: 1000,
        _source: false,
        sort: [{ '@timestamp': 'asc' }, { 'event.id': { order: 'asc', unmapped_type: 'keyword' } }],
        ...(after !== undefined && { search_after: after }),
      },
    })) as { hits: { hits: { sort: [string, string] }[] } }
    const { hits } = page.hits
    if (hits.length === 0) return ids
    ids.push(...hits.map(({ sort: [, id] }) => id))
    after = hits.at(-1)!.sort
  }
}

/** One of the files that users install. */
export function contentOf(name: string): unknown {
  return JSON.parse(readFileSync(join(projectFolder, 'config/elasticsearch', `${name}.json`), 'utf8'))
}

let made = 0
/** A data stream that no other test uses, and that the index template is for. */
export function newDataStream(): string {
  made++
  return `logs-bunny_shield.event-test${made}`
}

export interface BulkPlace {
  /** Where shieldlog sends to. */
  readonly url: string
  readonly index: string
  readonly credentials?: { readonly username: string; readonly password: string }
  /** Where the test asks, and as whom. */
  readonly askAt?: string
  readonly askAs?: Record<string, string>
}

export function bulkIntake({ url, index, credentials, askAt = url, askAs }: BulkPlace): Intake {
  return {
    url,
    sinkAt: (to) => ({
      type: 'http',
      preset: 'elasticsearch',
      format: 'ecs',
      url: to,
      index,
      ...credentials,
    }),
    stored: () => documentsOf(askAt, index, askAs),
  }
}
