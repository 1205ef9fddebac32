import { describe, expect, it } from 'vitest'
import type { StatusViews } from '../../src/domain/status/status-views.ts'
import { QueryError, readView } from '../../src/server/status-query.ts'

const asked = (query: unknown) => query
const views = { map: asked, day: asked, deadLetters: asked, tail: asked } as unknown as StatusViews

/** The query that the views get. */
function read(text: string): Promise<unknown> {
  const parameters = new URLSearchParams(text)
  return readView(parameters.get('view') ?? '', views, parameters)
}

describe('the query of /status', () => {
  it.each([
    ['view=map', { filter: '', sort: 'state', page: 1, size: 25 }],
    [
      'view=map&filter=sh%20op&sink=siem&state=gap&sort=lag&page=3&size=100',
      { filter: 'sh op', sink: 'siem', state: 'gap', sort: 'lag', page: 3, size: 100 },
    ],
    [`view=map&filter=${'x'.repeat(500)}`, { filter: 'x'.repeat(200), sort: 'state', page: 1, size: 25 }],
    ['view=day&zone=101&sink=siem&day=2026-11-20', { zone: 101, sink: 'siem', day: '2026-11-20' }],
    ['view=dead-letters&zone=101&sink=siem&day=2026-11-20', { zone: 101, sink: 'siem', day: '2026-11-20' }],
    ['view=tail&zone=101', { zone: 101, after: 0 }],
    ['view=tail&zone=101&after=12', { zone: 101, after: 12 }],
  ])('%s asks for %j', async (text, query) => {
    expect(await read(text)).toEqual(query)
  })

  it.each([
    ['view=x%0Ay', 'view "x\\\\ny" does not exist'],
    ['view=constructor', 'view "constructor" does not exist'],
    ['view=map&state=good', 'state "good" is none of failing, gap'],
    ['view=map&sort=name', 'sort "name" is none of state, zone'],
    ['view=map&page=0', 'page "0" is not a whole number from 1'],
    ['view=map&size=101', 'size "101" is not a whole number from 1 to 100'],
    ['view=map&page=1e3', 'page "1e3" is not'],
    ['view=day&zone=101', 'this view needs sink and day'],
    ['view=tail', 'this view needs zone (its id)'],
    ['view=day&zone=shop&sink=siem&day=2026-11-20', 'zone "shop" is not a whole number'],
    ['view=day&zone=101&sink=siem&day=today', 'day "today" is not YYYY-MM-DD'],
  ])('%s is refused with the value', async (text, message) => {
    await expect(read(text)).rejects.toThrow(QueryError)
    await expect(read(text)).rejects.toThrow(message)
  })
})
