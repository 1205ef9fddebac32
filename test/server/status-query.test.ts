import { describe, expect, it } from 'vitest'
import { QueryError, readStatusQuery } from '../../src/server/status-query.ts'

const read = (text: string) => readStatusQuery(new URLSearchParams(text))

describe('the query of /status', () => {
  it('returns everything without a view', () => {
    expect(read('')).toEqual({ view: 'all' })
    expect(read('verbose=1')).toEqual({ view: 'all' })
  })

  it('asks for a page of the map', () => {
    expect(read('view=map')).toEqual({ view: 'map', query: { filter: '', sort: 'state', page: 1, size: 25 } })
    expect(read('view=map&filter=sh%20op&sink=siem&state=gap&sort=lag&page=3&size=100')).toEqual({
      view: 'map',
      query: { filter: 'sh op', sink: 'siem', state: 'gap', sort: 'lag', page: 3, size: 100 },
    })
    expect(read(`view=map&filter=${'x'.repeat(500)}`)).toMatchObject({ query: { filter: 'x'.repeat(200) } })
  })

  it('asks for a day', () => {
    const query = { zone: 101, sink: 'siem', day: '2026-11-20' }
    expect(read('view=day&zone=101&sink=siem&day=2026-11-20')).toEqual({ view: 'day', query })
  })

  it('asks for live events of a zone', () => {
    expect(read('view=tail&zone=101')).toEqual({ view: 'tail', query: { zone: 101, after: 0 } })
    expect(read('view=tail&zone=101&after=12')).toEqual({ view: 'tail', query: { zone: 101, after: 12 } })
    expect(() => read('view=tail')).toThrow('this view needs zone (its id)')
  })

  it.each([
    ['view=x%0Ay', 'view "x\\\\ny" does not exist'],
    ['view=map&state=good', 'state "good" is none of failing, gap'],
    ['view=map&sort=name', 'sort "name" is none of state, zone'],
    ['view=map&page=0', 'page "0" is not a whole number from 1'],
    ['view=map&size=101', 'size "101" is not a whole number from 1 to 100'],
    ['view=map&page=1e3', 'page "1e3" is not'],
    ['view=day&zone=101', 'this view needs zone (its id), sink and day'],
    ['view=day&zone=shop&sink=siem&day=2026-11-20', 'zone "shop" is not a whole number'],
    ['view=day&zone=101&sink=siem&day=today', 'day "today" is not YYYY-MM-DD'],
  ])('%s is refused with the value', (text, message) => {
    expect(() => read(text)).toThrow(QueryError)
    expect(() => read(text)).toThrow(message)
  })
})
