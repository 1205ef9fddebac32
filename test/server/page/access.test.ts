import { describe, expect, it } from 'vitest'
import { Secret } from '../../../src/domain/text/secret.ts'
import { at, today } from '../../domain/builders.ts'
import { browserAvailable } from '../../setup/browser-available.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { accessibilityFaults, cell, texts, usePages } from './pages.ts'
import { change, story, trouble } from './story.ts'

const shop = { zone: 101, sink: 'siem', day: today }

describe.skipIf(!browserAvailable())('access to the page', { timeout: 120_000 }, () => {
  const { show, open } = usePages()

  it('works by keyboard: the map is one stop, arrows move, Enter opens, Escape returns', async () => {
    const { page } = await show(story())
    await page.locator('#legend button').last().focus()
    await page.keyboard.press('Tab')
    const focused = () =>
      page.evaluate<string>('document.activeElement.getAttribute("aria-label") ?? document.activeElement.id')
    expect(await focused()).toContain('shop → siem, 2026-11-20')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowDown')
    expect(await focused()).toContain('docs → siem, 2026-11-19')
    // Days that were never planned are passed over.
    await page.keyboard.press('Home')
    expect(await focused()).toContain('docs → siem, 2026-11-16')
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('End')
    expect(await focused()).toContain('shop → siem, 2026-11-20')
    await page.keyboard.press('Enter')
    await page.locator('#day-title').waitFor()
    await waitFor(async () => (await focused()) === 'day-title', { what: 'the focus on the day' })
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

  it('passes an accessibility check, its colours in light and dark', async () => {
    const { page } = await show(story(), { fragment: '#zone=101&to=siem&day=2026-11-20' })
    await page.locator('#day').getByText('Evidence').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    // It is polled once a frame: the page has been drawn in these colours.
    await page.waitForFunction("matchMedia('(prefers-color-scheme: dark)').matches")
    expect(await accessibilityFaults(page, ['color-contrast'])).toEqual([])
  })

  it('shows hostile names and messages as text, and keeps its width', async () => {
    const world = story()
    const long = 'x'.repeat(300)
    const names = ['<img src=x onerror=alert(1)>', '\u202egnp.exe\u0007', long]
    world.zones = names.map((name, index) => ({ id: 101 + index, name, account: 'default' }))
    change(world, shop, { trouble: trouble(`<script>alert(2)</script>\u202e ${long}`, at(13)) })
    const { page } = await show(world, {
      viewport: { width: 390, height: 800 },
      fragment: '#zone=101&to=siem&day=2026-11-20',
    })
    await page.locator('#day').getByText('Evidence').waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await texts(page.locator('#grid-body th .zone'))).toEqual(
      expect.arrayContaining([names[0], '\\u202egnp.exe\\u0007', long]),
    )
    expect(await page.locator('#problems').innerText()).toContain('<script>alert(2)</script>\\u202e')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  })

  it('asks for the token once, and keeps it in memory only', async () => {
    const { page, again } = await open(story(), { token: new Secret('s3cret-Token') })
    await page.locator('#token-text').fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('The server does not accept this token.').waitFor()
    expect(await page.locator('#content').isVisible()).toBe(false)
    await page.locator('#token-text').fill('s3cret-Token')
    await page.keyboard.press('Enter')
    await page.locator('#headline').waitFor()
    expect(await page.locator('#token').isVisible()).toBe(false)
    // A link would be answered with 401.
    expect(await page.locator('.foot a').count()).toBe(0)
    await again()
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML, document.querySelector("#token-text").value])',
    )
    expect(kept).not.toContain('s3cret')
    await page.reload()
    await page.locator('#token-text').waitFor()
  })

  it('prints an open day alone, with its table', async () => {
    const { page } = await show(story(), { fragment: '#zone=101&to=siem&day=2026-11-20' })
    await page.locator('#day').getByText('Evidence').waitFor()
    await page.emulateMedia({ media: 'print' })
    await page.evaluate('dispatchEvent(new Event("beforeprint"))')
    for (const hidden of ['#map', '#lag', '#verdict', '#day-close'])
      expect(await page.locator(hidden).isVisible()).toBe(false)
    for (const visible of ['#day-title', '.minutes', '.hours', '.last-audit', '.evidence'])
      expect(await page.locator(visible).isVisible()).toBe(true)
  })

  it.each([390, 1280, 2560])('fits %d px', async (width) => {
    const { page } = await show(story(), {
      viewport: { width, height: 900 },
      fragment: '#zone=101&to=siem&day=2026-11-20',
    })
    await page.locator('#day').getByText('Evidence').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    // Whatever is wider scrolls in its own place, and today is in sight.
    const { x, width: own } = (await cell(page, shop).boundingBox())!
    expect([x >= 0, x + own <= width]).toEqual([true, true])
    // `SHIELDLOG_TEST_PICTURES=docs/pictures` writes the pictures of the documentation.
    const folder = process.env['SHIELDLOG_TEST_PICTURES']
    if (folder === undefined) return
    if (width === 1280) await page.locator('#day').screenshot({ path: `${folder}/page-day.png` })
    await page.locator('#day-close').click()
    await page.locator('#day').waitFor({ state: 'hidden' })
    await page.evaluate('document.activeElement?.blur(); scrollTo(0, 0)')
    await page.screenshot({ path: `${folder}/page-${width}.png` })
  })
})
