import { expect } from 'vitest'
import type { BackfillStatus } from '../../../src/status/fleet.ts'
import type { Ended, Workplace } from '../../e2e/workplace.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { executeWith } from '../workshop.ts'

/** What stderr says to people: the text of JSON lines that are no log. */
export function saidIn(stderr: string): string {
  return stderr.replaceAll(
    /^\{"level":.*"event":"Progress",.*\}$/gm,
    (line) => (JSON.parse(line) as { msg: string }).msg,
  )
}

/** Runs a command within this process, for what needs no process of its own. */
export async function told({ configFile }: Workplace, ...args: readonly string[]): Promise<Ended> {
  const ended = await executeWith(configFile, args)
  return { ...ended, signal: null, stderr: saidIn(ended.stderr) }
}

/** What `backfill list --json` tells. */
export async function backfillsOf(place: Workplace): Promise<BackfillStatus[]> {
  const { code, stdout, stderr } = await told(place, 'backfill', 'list', '--json')
  expect(code, stderr).toBe(0)
  return (JSON.parse(stdout) as { backfills: BackfillStatus[] }).backfills
}

/** Waits until all backfills are done. */
export async function allDone(place: Workplace, stderr: () => string): Promise<void> {
  const areDone = async () => (await backfillsOf(place)).every(({ state }) => state === 'done')
  await waitFor(areDone, {
    what: () => `all backfills: ${stderr().slice(-2000)}`,
    everyMs: 100,
  })
}
