import { existsSync, readFileSync } from 'node:fs'
import { projectFolder } from '../setup/project-folder.ts'
import type { RecordedSpan } from './span-recorder.ts'

/** The environment that has a process record its spans: loaded before the program, as an SDK is. */
export function recording(file: string): Record<string, string> {
  return {
    NODE_OPTIONS: `--import=${projectFolder}test/telemetry/record-to-file.ts`,
    SHIELDLOG_TEST_SPANS: file,
  }
}

/** What ended so far, of all processes that record there. */
export function spansIn(file: string): RecordedSpan[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as RecordedSpan)
}

/** A span below all that it is a part of, the outermost first. */
export function pathTo(span: RecordedSpan, spans: readonly RecordedSpan[]): RecordedSpan[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentId)
  return parent === undefined ? [span] : [...pathTo(parent, spans), span]
}
