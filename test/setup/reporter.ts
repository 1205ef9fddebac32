import { writeFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule } from 'vitest/node'

/**
 * Says at the end what was skipped, and closes with `N passed, N failed, N skipped` alone on a line. `failed` counts what vitest does
 * not call a test as well: files that could not be loaded and errors outside any test. With SHIELDLOG_TEST_TALLY the three numbers
 * go to that file instead, for a caller that has a last word of its own.
 */
export class ClosingReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0
    let failed = unhandledErrors.length
    const skipped: TestCase[] = []
    for (const module of modules) {
      let failedHere = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        else if (state === 'skipped') skipped.push(test)
        else failedHere++
      }
      // A hook or an import failed: no test carries the fault.
      if (failedHere === 0 && !module.ok()) failedHere = 1
      failed += failedHere
    }
    for (const line of linesAbout(skipped)) process.stdout.write(`${line}\n`)
    const tally = process.env['SHIELDLOG_TEST_TALLY']
    if (tally === undefined) {
      process.stdout.write(`${passed} passed, ${failed} failed, ${skipped.length} skipped\n`)
    } else {
      writeFileSync(tally, `${passed} ${failed} ${skipped.length}\n`)
    }
  }
}

function linesAbout(skipped: readonly TestCase[]): string[] {
  return [...Map.groupBy(skipped, ({ module }) => module.relativeModuleId)].map(
    ([file, tests]) => `skipped: ${file} (${tests.map(({ fullName }) => fullName).join('; ')})`,
  )
}
