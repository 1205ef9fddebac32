import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { shiftDay } from '../../../src/domain/day.ts'
import type { ReportView } from '../../../src/domain/status/status-views.ts'
import { writeReport } from '../../../src/commands/audit/report.ts'
import { today } from '../../domain/builders.ts'
import { browserAvailable } from '../../setup/browser-available.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { accessibilityFaults } from './browser.ts'
import { usePages } from './pages.ts'
import { reportView } from './reports.ts'
import { story } from './story.ts'

const routes = [
  { zone: 101, sink: 'siem', day: shiftDay(today, -6) },
  { zone: 101, sink: 'archive', day: today },
  { zone: 107, sink: 'siem', day: shiftDay(today, -3) },
]

describe.skipIf(!browserAvailable())('the report of an audit', { timeout: 120_000 }, () => {
  const { openFile } = usePages()

  it('is read without a script, passes an accessibility check, and prints a day a page', async () => {
    const { page } = await openFile(reportFile(await reportView(story(), routes)))
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
    const view = await reportView(world, routes)
    const { page } = await openFile(reportFile(view), { viewport: { width, height: 900 } })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    expect(await page.locator('img, script').count()).toBe(0)
    expect(await page.locator('h2 .zone').first().innerText()).toContain('onerror=alert(1)>\\u202exxx')
  })
})

/** The URL of its file. */
function reportFile(view: ReportView): string {
  const path = join(temporaryFolder(), 'audit.html')
  writeFileSync(path, writeReport(view))
  return `file://${path}`
}
