import { describe, expect, it } from 'vitest'
import { shiftDay } from '../../../src/domain/day.ts'
import { cellStates } from '../../../src/domain/status/status-views.ts'
import { minuteMs, today } from '../../domain/builders.ts'
import { browserAvailable } from '../../setup/browser-available.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { eventAt } from '../../pump/stage.ts'
import { cell, texts, usePages } from './pages.ts'
import { change, readDay, story, storyZones } from './story.ts'
import { emptyWorld, viewsOf } from './world.ts'

const shop = { zone: 101, sink: 'siem', day: today }
const yesterday = shiftDay(today, -1)

describe.skipIf(!browserAvailable())('the page', { timeout: 120_000 }, () => {
  const { show, serveWorld } = usePages()

  it('shows each day of a route in its state, with its events', async () => {
    const world = story()
    const { page } = await show(world)
    const { routes } = await viewsOf(world).views.map({ filter: '', sort: 'state', page: 1, size: 25 })
    const days = routes.flatMap(({ zone, sink, cells }) =>
      cells.map(({ day, state }) => ({ zone: String(zone), sink, day, state })),
    )
    expect(new Set(days.map(({ state }) => state))).toEqual(new Set(cellStates))
    const shown = await page.evaluate<unknown[]>(
      '[...document.querySelectorAll("#grid-body button")].map(({ dataset: { zone, sink, day, state } }) => ({ zone, sink, day, state }))',
    )
    expect(shown).toHaveLength(days.length)
    expect(shown).toEqual(expect.arrayContaining(days))
    const failing = cell(page, shop)
    expect(await failing.innerText()).toMatch(/^\d+(?:\.\d+)?K$/)
    expect(await failing.getAttribute('aria-label')).toContain('shop → siem, 2026-11-20: failing, ')
  })

  it('shows first whether anything is missing, and what to do', async () => {
    const world = emptyWorld([storyZones[0]!], ['siem'])
    for (const day of [shiftDay(today, -2), yesterday, today])
      world.checkpoints.push(readDay({ ...shop, day }, 10))
    const { page, again } = await show(world)
    expect(await page.locator('#headline').innerText()).toBe(
      'The only route is up to date. Nothing is missing.',
    )
    expect(await page.locator('#verdict').getAttribute('data-level')).toBe('well')
    expect(await page.locator('#summary').innerText()).toContain('API deadline of the oldest unfinished day')
    world.workers = []
    await again()
    await waitFor(
      async () => (await page.locator('#headline').innerText()).startsWith('Nothing is shipping.'),
      { what: 'the verdict' },
    )
    expect(await texts(page.locator('#problems li'))).toEqual([
      expect.stringContaining('Start shieldlog run.'),
    ])
    expect(await page.title()).toBe('▲ shieldlog: Nothing is shipping. Nothing is missing.')
  })

  it('shows new figures without taking the focus', async () => {
    const world = story()
    const { page, again } = await show(world)
    const button = cell(page, { ...shop, sink: 'archive' })
    await button.focus()
    const { counters } = readDay(shop, 0)
    change(world, { ...shop, sink: 'archive' }, { counters: { ...counters, delivered: 999_000 } })
    await again()
    await waitFor(async () => (await button.innerText()) === '999K', { what: 'the new figure' })
    expect(await page.evaluate('document.activeElement?.dataset.day')).toBe(today)
    expect(await page.locator('#lag-body tr').count()).toBe(8)
  })

  it('finds a zone among 500, and pages and sorts them', async () => {
    const zones = Array.from({ length: 500 }, (_, index) => ({
      id: 1000 + index,
      name: `zone-${index}`,
      account: 'default',
    }))
    const world = emptyWorld(zones, ['siem'])
    for (const { id } of zones) world.checkpoints.push(readDay({ zone: id, sink: 'siem', day: today }, id))
    const { page } = await show(world)
    const chosen = page.locator('#chosen')
    expect(await chosen.innerText()).toBe('1 to 25 of 500 routes')
    await page.locator('#next').click()
    await waitFor(async () => (await chosen.innerText()) === '26 to 50 of 500 routes', {
      what: 'the next page',
    })
    await page.locator('#sort').selectOption('events')
    await waitFor(async () => (await texts(page.locator('#grid-body th .zone')))[0] === 'zone-499', {
      what: 'the order',
    })
    await page.locator('#filter').fill('zone-37')
    await page.clock.runFor(300)
    await waitFor(async () => (await chosen.innerText()) === '1 to 11 of 11 routes', { what: 'the filter' })
    expect(new URL(page.url()).hash).toContain('filter=zone-37')
    await page.locator('#filter').fill('no such zone')
    await page.clock.runFor(300)
    await page.getByText('No route matches this filter.').waitFor()
  })

  it('shows only routes with a day in a state, by the legend and by a problem', async () => {
    const { page } = await show(story())
    const routes = page.locator('#grid-body tr')
    const gap = page.locator('#legend button[data-state="gap"]')
    await gap.click()
    await waitFor(async () => (await routes.count()) === 1, { what: 'one route' })
    expect(await gap.getAttribute('aria-pressed')).toBe('true')
    await gap.click()
    await waitFor(async () => (await routes.count()) === 8, { what: 'all routes' })
    await page.locator('#problems li', { hasText: 'refused' }).getByRole('button').click()
    await waitFor(async () => (await texts(routes.locator('th')))[0]?.startsWith('api') === true, {
      what: 'the refused',
    })
  })

  it('opens a day with its chart, its table, scans, gaps, parts and evidence', async () => {
    const { page } = await show(story(), { fragment: '#zone=101&to=archive&day=2026-11-20' })
    const day = page.locator('#day')
    await day.getByText('Evidence').waitFor()
    const text = await day.innerText()
    for (const part of [
      'shop → archive, 2026-11-20',
      '113,113',
      'newest-first',
      '0001-k3v9.ndjson',
      'order-free hash',
      'shieldlog audit --zone 101 --sink archive --day 2026-11-20',
      '2026-11-20 13:00:00 UTC, shieldlog 1.0.0: ok. The API listed 102,400 events, the ledger had 102,400. The ledger has 113,113 now.',
    ])
      expect(text).toContain(part)
    expect(await day.locator('.bars').getAttribute('d')).toMatch(/^M0 120V/)
    await day.locator('summary').click()
    expect(await day.locator('.hours tbody tr').count()).toBe(24)
    await cell(page, { ...shop, day: '2026-11-14' }).click()
    await day.getByText('stopped listing it').waitFor()
    await day.getByText('Not audited yet').waitFor()
    await cell(page, { zone: 107, sink: 'siem', day: '2026-11-17' }).click()
    await day.getByText('shieldlog dead-letters list --sink siem --zone 107 --day 2026-11-17').waitFor()
    await day.getByRole('button', { name: 'Show the events' }).click()
    await day.getByText('Incorrect data format').click()
    expect(await day.locator('pre').innerText()).toContain('"url": "https://api.example.com/<b>"')
  })

  it('shows events as they come, only while a person wants it', async () => {
    const world = story()
    const request = { method: 'GET', url: 'https://x/<img src=x>' }
    world.live.push({ ...eventAt(1), request })
    const { page } = await show(world)
    const state = page.locator('#tail-state')
    expect(await texts(page.locator('#tail-zone option'))).toEqual(expect.arrayContaining(['shop', 'blog']))
    expect(world.live).toHaveLength(1)
    await page.locator('#tail-switch').click()
    await waitFor(() => world.live.length === 0, { what: 'the reading' })
    await page.clock.runFor(2_000)
    await page.locator('#tail-list').getByText('GET /<img src=x>').waitFor()
    expect(await state.innerText()).toBe('1 event; the newest first.')
    await page.clock.fastForward(5 * 60_000)
    await waitFor(async () => (await state.innerText()) === 'Stopped after 5 minutes.', { what: 'its end' })
    expect(await page.locator('#tail-switch').innerText()).toBe('Watch')
  })

  it('reports a day that the store does not have', async () => {
    const { page } = await show(story(), { fragment: '#zone=101&to=archive&day=2026-01-01' })
    await page.getByText('this zone, sink or day is not known').waitFor()
  })

  it('shows that the server cannot be reached, and continues when it can', async () => {
    const world = story()
    const { page, again, server, url } = await show(world)
    await server.stop()
    await again()
    await page.getByText('No answer from the server. Trying again every 5 s.').waitFor()
    expect(await page.locator('#headline').isVisible()).toBe(true)
    world.nowMs += 2 * minuteMs
    await serveWorld(world, { port: Number(new URL(url).port) })
    await again()
    await page.locator('#away').waitFor({ state: 'hidden' })
    expect(await page.locator('#updated').innerText()).toBe('updated 14:05:12')
  })

  it('shows why the server has no figures', async () => {
    const world = story()
    const { page, again } = await show(world)
    world.trouble = () => {
      throw new Error('cannot read the store: disk I/O error')
    }
    await again()
    await page.getByText('Cannot read the store: disk I/O error. Trying again').waitFor()
  })
})
