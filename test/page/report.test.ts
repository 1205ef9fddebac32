import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { shiftDay } from '../../src/domain/day.ts'
import { reportPage, type Report } from '../../src/page/report.ts'
import { today } from '../domain/builders.ts'
import { browserAvailable } from '../setup/available.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { accessibilityFaults, usePages } from './pages.ts'
import { story } from './story.ts'
import { viewsOf, type World } from './world.ts'

const routes = [
  { zone: 101, sink: 'siem', day: shiftDay(today, -6) },
  { zone: 101, sink: 'archive', day: today },
  { zone: 107, sink: 'siem', day: shiftDay(today, -3) },
]

describe.skipIf(!browserAvailable())('the report of an audit', { timeout: 120_000 }, () => {
  const { openFile } = usePages()

  it('is read without a script, passes an accessibility check, and prints a day a page', async () => {
    const { page } = await openFile(reportFile(await reportView(story())))
    expect(await page.locator('h2').allInnerTexts()).toEqual([
      'What this report shows',
      'What it does not show',
      'All routes and days',
      'shop → siem, 2026-11-14',
      'shop → archive, 2026-11-20',
      'api → siem, 2026-11-17',
    ])
    expect(await page.locator('.mark-missing, .mark-extra').count()).toBe(2)
    // The policy allows the style of the file.
    const fill = await page.evaluate('getComputedStyle(document.querySelector(".mark-missing")).fill')
    expect(fill).toBe('rgb(179, 38, 30)')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await accessibilityFaults(page, ['color-contrast'])).toEqual([])
    const pdf = (await page.pdf({ format: 'A4' })).toString('latin1')
    expect(pdf.match(/\/Type \/Page\b/g)!.length).toBeGreaterThanOrEqual(4)
  })

  it.each([390, 1280, 2560])('fits %d px, also with names of 300 characters', async (width) => {
    const world = story()
    world.zones[0] = { ...world.zones[0]!, name: `<img src=x onerror=alert(1)>\u202e${'x'.repeat(300)}` }
    const view = await reportView(world)
    const { page } = await openFile(reportFile(view), { viewport: { width, height: 900 } })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    expect(await page.locator('img, script').count()).toBe(0)
    expect(await page.locator('h2 .zone').first().innerText()).toContain('onerror=alert(1)>\\u202exxx')
  })
})

/** The URL of its file. */
function reportFile(view: Report): string {
  const path = join(temporaryFolder(), 'audit.html')
  writeFileSync(path, reportPage(view))
  return `file://${path}`
}

/** A report of these days of a world; in the first of them events are missing and extra. */
async function reportView(world: World): Promise<Report> {
  const { views } = viewsOf(world)
  const days = routes.map(async (route, index) => {
    const view = (await views.day(route))!
    const { zone, name, sink, ledger } = view
    const isEqual = index > 0
    const [missing, extra] = isEqual ? [0, 0] : [2, 1]
    const minute = (at: string, counts: object) => ({ minute: `${view.day}T${at}:00.000Z`, ...counts })
    const minutes = [minute('13:02', { missing, extra: 0 }), minute('17:40', { missing: 0, extra })]
    const counts = { listed: ledger.events + missing, ledger: ledger.events, missing, extra, notYetDue: 0 }
    const where = { zone, name, sink, day: route.day, view }
    return {
      ...where,
      result: isEqual ? { text: 'ok', tone: 'good' } : { text: '2 missing, 1 extra', tone: 'bad' },
      listed: { ...ledger, events: counts.listed, at: view.at },
      texts: [{ text: 'the API lists 20 events.', details: [`part ${'x'.repeat(200)} is short`] }],
      stream: { ...counts, minutes },
    }
  })
  const rows = await Promise.all(days)
  const view = {
    beganAt: '2026-11-20T14:01:00.000Z',
    endedAt: '2026-11-20T14:03:12.000Z',
    api: 'https://api.bunny.net',
    version: '1.0.0',
    host: 'siem-1',
    configuration: '/etc/shieldlog/shieldlog.yaml',
    settingsHash: '0123456789abcdef',
    state: 'sqlite:./shieldlog.db',
    level: 'bad',
    headline: '2 events missing, 1 event extra, on 1 of 3 days of a zone and sink that were compared.',
    scope: '2026-11-18 to 2026-11-20: 4 zones, 2 sinks; the API lists 502,113 events.',
    isDeep: false,
    failures: [],
    rows,
    days: rows,
  }
  return view as unknown as Report
}
