import { Agent } from 'undici'
import { createFakeClock, type FakeClock } from '../fakes/fake-clock.ts'
import { onTestFinished } from 'vitest'
import {
  startSimulator,
  type Simulator,
  type SimulatorOptions,
  type WireEntry,
} from '../../src/simulator/simulator.ts'

export interface EventLogPage {
  readonly logs: readonly WireEntry[] | null
  readonly hasMoreData: boolean
  readonly continuationToken: string | null
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: Buffer
  readonly text: string
  /** The parsed body; throws where it is no JSON. */
  json(): unknown
}

export interface Asking {
  readonly simulator: Simulator
  readonly clock: FakeClock
  ask(path: string, options?: AskOptions): Promise<Reply>
  /** One page of the event logs; `token` null asks for the first one without a segment. */
  page(token: string | null, at?: ListingAt): Promise<EventLogPage>
  /** All pages from one on, at most 200. */
  scan(token: string | null, at?: ListingAt): Promise<EventLogPage[]>
}

interface ListingAt {
  readonly zone?: number
  readonly day?: string
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly signal?: AbortSignal
}

export const today = '2026-11-20'

/** A simulator at noon of `today`, ended with the test. */
export async function startAsking(options: SimulatorOptions = {}): Promise<Asking> {
  const clock = createFakeClock(Date.parse(`${today}T12:00:00.000Z`))
  const simulator = await startSimulator({ clock, ...options })
  const agent = new Agent()
  onTestFinished(async () => {
    await simulator.close()
    await agent.destroy()
  })

  const ask = async (path: string, options: AskOptions = {}): Promise<Reply> => {
    const method = (options.method ?? 'GET') as 'GET'
    const {
      statusCode: status,
      headers,
      body,
    } = await agent.request({ origin: simulator.url, path, ...options, method })
    const bytes = Buffer.from(await body.arrayBuffer())
    const text = bytes.toString('utf8')
    return { status, headers, bytes, text, json: () => JSON.parse(text) as unknown }
  }
  const page: Asking['page'] = async (token, at = {}) => {
    const reply = await ask(pathOf(token, at))
    if (reply.status !== 200) throw new Error(`${reply.status} for ${pathOf(token, at)}: ${reply.text}`)
    return reply.json() as EventLogPage
  }
  const scan: Asking['scan'] = async (token, at = {}) => {
    const pages = [await page(token, at)]
    for (let last = pages[0]; last?.hasMoreData === true; last = pages.at(-1)) {
      if (pages.length >= 200) throw new Error('the listing has no end')
      pages.push(await page(last.continuationToken, at))
    }
    return pages
  }
  return { simulator, clock, ask, page, scan }
}

export function pathOf(token: string | null, at: ListingAt = {}): string {
  const [year, month, date] = (at.day ?? today).split('-')
  const path = `/shield/event-logs/${at.zone ?? 101}/${month}-${date}-${year}`
  return token === null ? path : `${path}/${encodeURIComponent(token)}`
}

export function idsOf(pages: readonly EventLogPage[]): string[] {
  return pages.flatMap((page) => (page.logs ?? []).map((entry) => entry.logId))
}
