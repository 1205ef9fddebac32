import { describe, expect, it } from 'vitest'
import { endOf, shiftDay, startOf } from '../../../src/domain/day.ts'
import { cellStates } from '../../../src/domain/status/status-views.ts'
import { at, minuteMs, today } from '../../domain/builders.ts'
import { browserAvailable } from '../../setup/browser-available.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { eventAt } from '../../pump/stage.ts'
import { serveWorld } from './browser.ts'
import { cell, texts, usePages } from './pages.ts'
import { change, readDay, story, storyZones, trouble } from './story.ts'
import { emptyWorld } from './world.ts'

const shop = { zone: 101, sink: 'siem', day: today }
const yesterday = shiftDay(today, -1)
const old = shiftDay(today, -8)

describe.skipIf(!browserAvailable())('the page', { timeout: 120_000 }, () => {
  const { show, servers } = usePages()

  it('shows every state of a day as soon as the store has it', async () => {
    const world = emptyWorld({ zones: [storyZones[0]!], sinks: ['siem'] })
    const { page, again } = await show(world)
    const becomes = async (day: string, state: string, events: string) => {
      await again()
      const button = cell(page, { ...shop, day })
      await waitFor(async () => (await button.getAttribute('data-state')) === state, {
        what: `${day} ${state}`,
      })
      expect(await button.innerText()).toBe(events)
      expect(await button.getAttribute('aria-label')).toContain(
        `shop → siem, ${day}: ${state.replace('_', ' ')}, `,
      )
    }
    const shown = new Set<string>()
    const step = async (by: () => void, day: string, state: (typeof cellStates)[number], events: string) => {
      by()
      await becomes(day, state, events)
      shown.add(state)
    }
    await step(() => undefined, today, 'unread', '0')
    await step(() => world.checkpoints.push(readDay(shop, 120)), today, 'open', '120')
    const failing = trouble('no route to host', at(13))
    await step(() => change(world, shop, (each) => ({ ...each, trouble: failing })), today, 'failing', '120')
    await step(
      () => world.checkpoints.push(readDay({ ...shop, day: yesterday }, 1_234)),
      yesterday,
      'settling',
      '1.23K',
    )
    await step(() => world.checkpoints.push(readDay({ ...shop, day: old }, 5)), old, 'complete', '5')
    const letters = { ...shop, day: old, reason: 'refused', count: 2, bytes: 10 } as const
    await step(() => world.deadLetters.push(letters), old, 'dead_letters', '5')
    const gap = {
      ...shop,
      day: old,
      from: startOf(old),
      to: endOf(old),
      reason: 'unreadable',
      recordedAt: at(1),
    } as const
    await step(() => world.gaps.push(gap), old, 'gap', '5')
    const expired = readDay({ ...shop, day: shiftDay(old, 1) }, 7, { ended: { as: 'expired', atMs: at(1) } })
    await step(() => world.checkpoints.push(expired), shiftDay(old, 1), 'expired', '7')
    expect([...shown].sort()).toEqual([...cellStates].sort())
    expect(await page.locator('#headline').innerText()).toBe(
      '1 of 1 route fails. Missing: events of 1 day, 2 events that a sink refused.',
    )
  })

  it('shows first whether anything is missing, and what to do', async () => {
    const world = emptyWorld({ zones: [storyZones[0]!], sinks: ['siem'] })
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
    change(world, { ...shop, sink: 'archive' }, (each) => ({
      ...each,
      counters: { ...each.counters, delivered: 999_000 },
    }))
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
    const world = emptyWorld({ zones, sinks: ['siem'] })
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
    await page.getByText('the store has nothing about this zone, sink and day').waitFor()
  })

  it('shows that the server cannot be reached, and continues when it can', async () => {
    const world = story()
    const { page, again, server, url } = await show(world)
    await server.stop()
    await again()
    await page.getByText('No answer from the server. Trying again every 5 s.').waitFor()
    expect(await page.locator('#headline').isVisible()).toBe(true)
    world.nowMs += 2 * minuteMs
    servers.push((await serveWorld(world, { port: Number(new URL(url).port) })).server)
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
