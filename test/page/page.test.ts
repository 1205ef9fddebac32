import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { shiftDay } from '../../src/domain/day.ts'
import { streamKey } from '../../src/domain/stream.ts'
import { Secret } from '../../src/domain/text/secret.ts'
import { cellStates } from '../../src/status/queries.ts'
import { at, minuteMs, today } from '../domain/builders.ts'
import { browserAvailable } from '../setup/available.ts'
import { accessibilityFaults, cell, usePages } from './pages.ts'
import { change, readDay, story, trouble, zonesOf } from './story.ts'
import { emptyWorld, viewsOf } from './world.ts'

const shop = { zone: 101, sink: 'siem', day: today }
const archive = { ...shop, sink: 'archive' }

describe.skipIf(!browserAvailable())('the page', { timeout: 120_000 }, () => {
  const { show, showDay, open, openFile, serveWorld } = usePages()

  it('shows each day of a route in its state, with its events', async () => {
    const world = story()
    const { page } = await show(world)
    const { routes } = await viewsOf(world).views.map({ filter: '', sort: 'state', page: 1, size: 25 })
    const days = routes.flatMap(({ zone, sink, cells }) =>
      cells.map(({ day, state }) => [`${zone}/${sink}/${day}`, `cell state-${state}`]),
    )
    const all = cellStates.map((state) => `cell state-${state}`)
    expect(new Set(days.map(([, state]) => state))).toEqual(new Set(all))
    const shown = await page.evaluate<unknown[]>(
      '[...document.querySelectorAll("#grid-body a")].map(({ id, className }) => [id, className])',
    )
    expect(shown).toHaveLength(days.length)
    expect(shown).toEqual(expect.arrayContaining(days))
    expect(await cell(page, shop).innerText()).toMatch(/^\d+(?:\.\d+)?K$/)
    expect(await cell(page, shop).getAttribute('aria-label')).toContain('shop → siem, 2026-11-20: failing, ')
  })

  it('shows first whether anything is missing, and what to do', async () => {
    const world = emptyWorld(zonesOf(1), ['siem'])
    for (const back of [2, 1, 0])
      world.checkpoints.push(readDay({ zone: 1000, sink: 'siem', day: shiftDay(today, -back) }, 10))
    const { page, again } = await show(world)
    const headline = page.locator('#headline')
    expect(await headline.innerText()).toBe('The only route is up to date. Nothing is missing.')
    expect(await page.locator('#verdict').getAttribute('data-level')).toBe('well')
    expect(await page.locator('#summary').innerText()).toContain('API deadline of the oldest unfinished day')
    world.workers = []
    await again()
    await expect.poll(() => headline.innerText()).toMatch(/^Nothing is shipping\./)
    expect(await page.locator('#problems li').innerText()).toContain('Start shieldlog run.')
    expect(await page.title()).toBe('▲ shieldlog: Nothing is shipping. Nothing is missing.')
  })

  it('shows new figures without taking the focus', async () => {
    const world = story()
    const { page, again } = await show(world)
    const button = cell(page, archive)
    await button.focus()
    change(world, archive, { counters: readDay(archive, 999_000).counters })
    await again()
    await expect.poll(() => button.innerText()).toBe('999K')
    expect(await page.evaluate('document.activeElement?.id')).toBe(`101/archive/${today}`)
    expect(await page.locator('#lag-body tr').count()).toBe(8)
  })

  it('finds a zone among 500, and pages and sorts them', async () => {
    const world = emptyWorld(zonesOf(500), ['siem'])
    for (const { id } of world.zones)
      world.checkpoints.push(readDay({ zone: id, sink: 'siem', day: today }, id))
    const { page } = await show(world)
    const chosen = () => page.locator('#chosen').innerText()
    expect(await chosen()).toBe('1 to 25 of 500 routes')
    await page.locator('#next').click()
    await expect.poll(chosen).toBe('26 to 50 of 500 routes')
    await page.locator('#sort').selectOption('events')
    await expect.poll(() => page.locator('#grid-body th .zone').first().innerText()).toBe('zone-499')
    await page.locator('#filter').fill('zone-37')
    await page.clock.runFor(300)
    await expect.poll(chosen).toBe('1 to 11 of 11 routes')
    expect(new URL(page.url()).search).toContain('filter=zone-37')
    await page.locator('#filter').fill('no such zone')
    await page.clock.runFor(300)
    await page.getByText('No route matches this filter.').waitFor()
  })

  it('shows only routes with a day in a state, by the legend and by a problem', async () => {
    const { page } = await show(story())
    const routes = page.locator('#grid-body tr')
    const gap = page.locator('#only-gap')
    await gap.click()
    await expect.poll(() => routes.count()).toBe(1)
    expect(await gap.getAttribute('aria-current')).toBe('true')
    await gap.click()
    await expect.poll(() => routes.count()).toBe(8)
    await page.locator('#problems li', { hasText: 'refused' }).getByRole('link').click()
    await expect.poll(() => routes.locator('th').first().innerText()).toMatch(/^api/)
  })

  it('opens a day with its chart, its table, scans, gaps, parts and evidence', async () => {
    const { page, day } = await showDay(story(), archive)
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
    await day.locator('#hours summary').click()
    expect(await day.locator('.hours tbody tr').count()).toBe(24)
    await cell(page, { ...shop, day: '2026-11-14' }).click()
    await day.getByText('stopped listing it').waitFor()
    await day.getByText('Not audited yet').waitFor()
    await cell(page, { zone: 102, sink: 'archive', day: '2026-11-20' }).click()
    await day.getByText('2 committed, 1,234,567 bytes').waitFor()
    await cell(page, { zone: 107, sink: 'siem', day: '2026-11-17' }).click()
    await day.getByText('shieldlog dead-letters show --sink siem --zone 107 --day 2026-11-17').waitFor()
  })

  it('names the deep audit again where one found that files differ', async () => {
    const world = story()
    const key = streamKey(archive)
    world.audits.set(key, { ...world.audits.get(key)!, isEqual: false, files: '3 more lines' })
    const { day } = await showDay(world, archive)
    expect(await day.locator('.last-audit').innerText()).toMatch(
      /files or objects differ\. .* Deep: 3 more lines[^]*compare them again, .* --day 2026-11-20 --deep --report/,
    )
  })

  it('says of a day that it is not known, why there are no figures, and that the server is away, and continues', async () => {
    const world = story()
    const { page, again, server, url } = await open(world, {}, '?zone=101&to=archive&day=2026-01-01')
    await page.getByText('this zone, sink or day is not known').waitFor()
    world.trouble = () => {
      throw new Error('cannot read the state: disk I/O error')
    }
    await again()
    await page.getByText('Cannot read the state: disk I/O error. Trying again').waitFor()
    await server.stop()
    await again()
    await page.getByText('No answer from the server. Trying again every 5 s.').waitFor()
    expect(await page.locator('#headline').isVisible()).toBe(true)
    world.trouble = () => undefined
    world.nowMs += 2 * minuteMs
    await serveWorld(world, { port: Number(new URL(url).port) })
    await again()
    await page.locator('#away').waitFor({ state: 'hidden' })
    expect(await page.locator('#updated').innerText()).toBe('updated 14:05:12')
  })

  it('works by keyboard: the map is one stop, arrows move, Enter opens, Escape returns', async () => {
    const { page } = await show(story())
    const focused = () =>
      page.evaluate<string>('document.activeElement.getAttribute("aria-label") ?? document.activeElement.id')
    await page.locator('#legend a').last().focus()
    for (const [keys, label] of [
      [['Tab'], 'shop → siem, 2026-11-20'],
      [['ArrowLeft', 'ArrowDown'], 'docs → siem, 2026-11-19'],
      // Days that were never planned are passed over.
      [['Home'], 'docs → siem, 2026-11-16'],
      [['Control+End', 'Control+Home', 'End'], 'shop → siem, 2026-11-20'],
    ] as const) {
      for (const key of keys) await page.keyboard.press(key)
      expect(await focused()).toContain(label)
    }
    await page.keyboard.press('Enter')
    await expect.poll(focused).toBe('day-title')
    await page.locator('.chart').focus()
    const reading = page.locator('.reading')
    await page.keyboard.press('Home')
    expect(await reading.innerText()).toMatch(/^00:00 UTC: \d+ events$/)
    await page.keyboard.press('PageUp')
    await page.keyboard.press('ArrowRight')
    expect(await reading.innerText()).toMatch(/^01:01 UTC: /)
    await page.keyboard.press('Escape')
    await page.locator('#day').waitFor({ state: 'hidden' })
    expect(await focused()).toContain('shop → siem, 2026-11-20')
  })

  it('passes an accessibility check, its colours in light and dark, and prints an open day alone, with its table', async () => {
    const { page } = await showDay(story(), shop)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    // It is polled once a frame: the page has been drawn in these colours.
    await page.waitForFunction("matchMedia('(prefers-color-scheme: dark)').matches")
    expect(await accessibilityFaults(page, ['color-contrast'])).toEqual([])
    await page.emulateMedia({ media: 'print' })
    await page.evaluate('dispatchEvent(new Event("beforeprint"))')
    for (const hidden of ['#map', '#lag', '#verdict', '#day-close'])
      expect(await page.locator(hidden).isVisible()).toBe(false)
    for (const visible of ['#day-title', '.minutes', '.hours', '.last-audit', '.evidence'])
      expect(await page.locator(visible).isVisible()).toBe(true)
  })

  it('shows hostile names and messages as text, and keeps its width', async () => {
    const world = story()
    const long = 'x'.repeat(300)
    const names = ['<img src=x onerror=alert(1)>', '\u202egnp.exe\u0007', long]
    world.zones = names.map((name, index) => ({ id: 101 + index, name, account: 'default' }))
    change(world, shop, { trouble: trouble(`<script>alert(2)</script>\u202e ${long}`, at(13)) })
    const { page } = await showDay(world, shop, { viewport: { width: 390, height: 800 } })
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.locator('#grid-body th .zone').allInnerTexts()).toEqual(
      expect.arrayContaining([names[0], '\\u202egnp.exe\\u0007', long]),
    )
    expect(await page.locator('#problems').innerText()).toContain('<script>alert(2)</script>\\u202e')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  })

  it('works below the path of a proxy: files, choices and refreshes', async () => {
    const world = story()
    const { url } = await serveWorld(world)
    const proxy = createServer((request, response) => {
      const [, path] = /^\/shieldlog(\/.*)$/.exec(request.url ?? '') ?? []
      const { headers } = request
      if (path === undefined) response.writeHead(404).end()
      else
        get(new URL(path, url), { headers: { ...headers, host: new URL(url).host } }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(response)
        })
    })
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void proxy.close())
    const { port } = proxy.address() as AddressInfo
    const asked: string[] = []
    proxy.on('request', ({ url: path = '' }) => asked.push(path))
    const { page, again } = await openFile(`http://127.0.0.1:${port}/shieldlog/`)
    await page.locator('#headline').waitFor()
    await cell(page, archive).click()
    await page.locator('#day').getByText('Evidence').waitFor()
    change(world, archive, { counters: readDay(archive, 999_000).counters })
    await again()
    await expect.poll(() => cell(page, archive).innerText()).toBe('999K')
    expect(asked.filter((path) => !path.startsWith('/shieldlog/') && path !== '/favicon.ico')).toEqual([])
    expect(
      await page.evaluate('getComputedStyle(document.querySelector("#grid-body a")).textDecorationLine'),
    ).toBe('none')
  })

  it('can be read without JavaScript: each choice is a link', async () => {
    const { page } = await open(story(), {}, '', { javaScriptEnabled: false })
    expect(await page.locator('#headline').innerText()).not.toBe('')
    await cell(page, shop).click()
    await page.locator('#day').getByText('Evidence').waitFor()
    expect(new URL(page.url()).search).toContain('day=')
  })

  it('asks for the token once, and keeps it in memory only', async () => {
    const { page, again } = await open(story(), { token: new Secret('s3cret-Token') })
    const type = async (token: string) => {
      await page.locator('#token-text').fill(token)
      await page.keyboard.press('Enter')
    }
    await type('wrong')
    await page.getByText('The server does not accept this token.').waitFor()
    expect(await page.locator('#content').isVisible()).toBe(false)
    await type('s3cret-Token')
    await page.locator('#headline').waitFor()
    expect(await page.locator('#token').isVisible()).toBe(false)
    // A link would be answered with 401.
    expect(await page.locator('.foot a').count()).toBe(0)
    await again()
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML, [...document.querySelectorAll("input")].map(({ value }) => value)])',
    )
    expect(kept).not.toContain('s3cret')
    await page.reload()
    await page.locator('#token-text').waitFor()
  })

  it.each([390, 1280, 2560])(
    'fits %d px, and has names of metrics only where there is room',
    async (width) => {
      const { page, day } = await showDay(story(), shop, { viewport: { width, height: 900 } })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      const named = 'getComputedStyle(document.querySelector(".metrics")).display !== "none"'
      expect(await page.evaluate(named)).toBe(width > 600)
      const hint = 'getComputedStyle(document.querySelector(".scroll")).backgroundImage'
      expect(await page.evaluate(hint)).toContain('linear-gradient')
      // Whatever is wider scrolls in its own place, and today is in sight.
      const { x, width: own } = (await cell(page, shop).boundingBox())!
      expect([x >= 0, x + own <= width]).toEqual([true, true])
      // `SHIELDLOG_TEST_PICTURES=docs/pictures` writes the pictures of the documentation.
      const folder = process.env['SHIELDLOG_TEST_PICTURES']
      if (folder === undefined) return
      if (width === 1280) await day.screenshot({ path: `${folder}/page-day.png` })
      await page.locator('#day-close').click()
      await day.waitFor({ state: 'hidden' })
      await page.evaluate('document.activeElement?.blur(); scrollTo(0, 0)')
      await page.screenshot({ path: `${folder}/page-${width}.png` })
    },
  )
})
