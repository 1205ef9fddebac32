import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { receiver } from './e2e/receiver.ts'
import { workplace } from './e2e/workplace.ts'
import type { Fence } from './docs/pages.ts'
import { shellBlocks } from './docs/pages.ts'
import { startProcess } from './setup/processes.ts'
import { compiledPrograms, programFile } from './setup/program/program-file.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'

describe('commands of the pages', () => {
  test.for(shellBlocks())('bash understands $title', async ({ fence }) => {
    const bash = startProcess('bash', ['-n'], { input: fence.text })
    expect([(await bash.exited).code, bash.stderr()]).toEqual([0, ''])
  })

  test.for(shellBlocks('run'))('$title runs as written', async ({ fence }) => {
    // Another run on this machine may use the port that the page names.
    await runIn(checkout(), fence.text.replaceAll('18099', String(20_000 + (process.pid % 10_000))))
  })
})

describe('a tour through the pages, in one folder', () => {
  const tours = shellBlocks('tour')
  const differing = tours.filter(({ fence }, index) => {
    const isSame = (other: number) => tours[other]!.fence.text === fence.text
    // The README says in short what a page of docs/ says at length.
    return !tours.some((each, other) => (isSame(other) ? other < index : isPartOf(fence, each.fence)))
  })
  let place: Shipping | undefined
  beforeAll(async () => {
    place = await shipping()
  })
  afterAll(() => place?.stop())

  test.for(differing)('$title runs as written', async ({ fence }) => {
    await runIn(place!.folder, fence.text)
  })

  test('there is one', () => expect(differing.length).toBeGreaterThan(5))
})

/** All lines of a block stand in the other one, in this order. */
function isPartOf(block: Fence, other: Fence): boolean {
  const wanted = block.text.split('\n')
  let found = 0
  for (const line of other.text.split('\n')) if (line === wanted[found]) found++
  return found === wanted.length
}

interface Shipping {
  readonly folder: string
  stop(): Promise<unknown>
}

/** Runs a block as its reader would; whatever it started in the background ends with it. */
async function runIn(folder: string, text: string): Promise<void> {
  const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${text}`
  const path = [programFolder(), join(projectFolder, 'node_modules', '.bin'), dirname(process.execPath)]
  // `timeout` signals all of its group.
  const bash = startProcess('timeout', ['-k', '5', '200', 'bash', '-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: {
      ...withoutSettings(),
      // Another shieldlog may run on this machine.
      SHIELDLOG_SERVER_PORT: '0',
      ...compiledPrograms(),
      PATH: [...path, process.env['PATH']].join(delimiter),
      TMPDIR: folder,
    },
  })
  const { code } = await bash.exited
  expect(code, `${text}\n${bash.stdout()}\n${bash.stderr()}`).toBe(0)
}

/** A folder whose shieldlog.yaml ships two zones to files and to an HTTP server that has refused one event; a run ships. */
async function shipping(): Promise<Shipping> {
  const siem = await receiver()
  const { folder, once, start } = await workplace(
    { days: 40 },
    {
      zones: [
        { id: 101, name: 'shop' },
        { id: 102, name: 'blog' },
      ],
      sinks: [
        { name: 'archive', type: 'file', path: 'events' },
        { name: 'siem', type: 'http', url: siem.url },
      ],
      // With shorter pauses some live stream is always due, and a backfill of the tour waits for it.
      poll: { everySeconds: 5 },
    },
  )
  let refused: string | undefined
  siem.answer(({ lines }) => {
    refused ??= siem.taken.length > 0 ? lines[0] : undefined
    return { status: refused !== undefined && lines.includes(refused) ? 400 : 200 }
  })
  expect((await once()).code).toBe(1)
  siem.answer(() => ({ status: 200 }))
  const run = start(['run'])
  await run.waitForLine(/"Started"/)
  return { folder, stop: () => run.kill('SIGTERM') }
}

/**
 * A folder that looks like the checkout, in which files may be written. Its scripts start the bundle of this run; that
 * they start the sources is shown in test/packaging.test.ts and test/first-steps.test.ts.
 */
function checkout(): string {
  const folder = temporaryFolder()
  for (const name of ['src', 'config', 'node_modules'])
    symlinkSync(join(projectFolder, name), join(folder, name))
  const manifest = readFileSync(join(projectFolder, 'package.json'), 'utf8')
  writeFileSync(join(folder, 'package.json'), manifest.replaceAll('src/cli.ts', programFile('cli')))
  return folder
}

/** A folder with the program as an installed package gives it: bundled. */
function programFolder(): string {
  const folder = temporaryFolder()
  const program = join(folder, 'shieldlog')
  writeFileSync(program, `#!/bin/sh\nexec node '${programFile('cli')}' "$@"\n`)
  chmodSync(program, 0o755)
  return folder
}

/** The settings of whoever runs the tests are not those of the reader. */
function withoutSettings(): Record<string, undefined> {
  const names = Object.keys(process.env).filter((name) => name.startsWith('SHIELDLOG_'))
  return Object.fromEntries(names.map((name) => [name, undefined]))
}
