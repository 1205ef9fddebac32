import { expect, onTestFinished } from 'vitest'
import { startSimulator, type SimulatorOptions, type WireEntry } from '../../src/simulator/simulator.ts'
import { fieldsOf } from '../docs/interface-fields.ts'
import { createFakeClock } from '../fakes/fake-clock.ts'

export interface EventLogPage {
  readonly logs: readonly WireEntry[] | null
  readonly hasMoreData: boolean
  readonly continuationToken: string | null
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface ListingAt {
  readonly zone?: number
  readonly day?: string
}

export const today = '2026-11-20'

/** A simulator at noon of `today`, ended with the test. */
export async function startAsking(options: SimulatorOptions = {}) {
  const clock = createFakeClock(Date.parse(`${today}T12:00:00.000Z`))
  const simulator = await startSimulator({ clock, ...options })
  onTestFinished(() => simulator.close())

  async function ask(path: string, options: RequestInit = {}): Promise<Reply> {
    const answer = await fetch(`${simulator.url}${path}`, options)
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  async function statusOf(token: string | null, at?: ListingAt): Promise<number> {
    return (await ask(pathOf(token, at))).status
  }
  /** One page of the event logs; `token` null asks for the first one without a segment. */
  async function page(token: string | null, at?: ListingAt): Promise<EventLogPage> {
    const { status, text } = await ask(pathOf(token, at))
    if (status !== 200) throw new Error(`${status} for ${pathOf(token, at)}: ${text}`)
    return JSON.parse(text) as EventLogPage
  }
  /** All pages from one on, at most 200. */
  async function scan(token: string | null, at?: ListingAt): Promise<EventLogPage[]> {
    const pages = [await page(token, at)]
    for (let last = pages[0]; last?.hasMoreData === true; last = pages.at(-1)) {
      if (pages.length >= 200) throw new Error('the listing has no end')
      pages.push(await page(last.continuationToken, at))
    }
    return pages
  }
  return { simulator, clock, ask, statusOf, page, scan }
}

export function pathOf(token: string | null, at: ListingAt = {}): string {
  const [year, month, date] = (at.day ?? today).split('-')
  const path = `/shield/event-logs/${at.zone ?? 101}/${month}-${date}-${year}`
  return token === null ? path : `${path}/${encodeURIComponent(token)}`
}

export function idsOf(pages: readonly EventLogPage[]): string[] {
  return pages.flatMap((page) => (page.logs ?? []).map((entry) => entry.logId))
}

/** Fields that hold a resource of another name than `Resource.field`. */
const held: Readonly<Record<string, string>> = {
  'EventLogPage.logs': 'EventLogEntry',
  'RateLimitRule.ruleConfiguration': 'RuleConfiguration',
  'RateLimitRule.errorResponse': 'GenericRequestResponse',
  'VolumeList.items': 'VolumeTemplate',
  'VolumeTemplate.volumeInstances': 'VolumeInstance',
}

/** The reply has this status, and a JSON body with exactly the fields of a resource of the interface. */
export function expectReply({ status, headers, text }: Reply, wanted: number, resource: string): void {
  expect(status, text).toBe(wanted)
  const isProblem = resource === 'ProblemDetails' || resource === 'ValidationProblem'
  const type = isProblem ? 'application/problem+json' : 'application/json'
  expect(headers.get('content-type')).toBe(`${type}; charset=utf-8`)
  expectFields(JSON.parse(text), resource)
}

function expectFields(value: unknown, resource: string): void {
  if (Array.isArray(value)) for (const each of value) expectFields(each, resource)
  const fields = fieldsOf[resource]?.split(' ')
  if (Array.isArray(value) || typeof value !== 'object' || value === null || fields === undefined) return
  expect(Object.keys(value).toSorted(), resource).toEqual(fields.toSorted())
  for (const [name, inner] of Object.entries(value))
    expectFields(inner, held[`${resource}.${name}`] ?? `${resource}.${name}`)
}
