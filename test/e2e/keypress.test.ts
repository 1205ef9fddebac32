import { describe, expect, test } from 'vitest'
import { ctrlC, startOnTerminal, terminalAvailable } from '../setup/terminal.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { openWorkshopWithApi } from '../commands/workshop.ts'

const program = (folder: string, args: string) =>
  `${process.execPath} ${projectFolder}src/cli.ts ${args} -c ${folder}/shieldlog.yaml`

describe.skipIf(!terminalAvailable())('Ctrl-C on a terminal', () => {
  test.for([
    ['status --watch', /^102 .* archive /],
    ['backfill --from yesterday --to today --watch', /^\d{4}-\d\d-\d\d {2}shop .* \d+ (?:%|pages?) /],
    ['tail', /^\d\d:\d\d:\d\d {2}/],
    ['audit', /^comparing: \d/],
  ] as const)('ends %s, leaves the cursor visible at the beginning of a line', async ([args, shown]) => {
    const workshop = await openWorkshopWithApi({ days: 30, pageSize: 5 })
    await workshop.execute('run', '--once')
    if (args.startsWith('backfill') || args === 'audit') workshop.simulator.set({ latencyMs: 700 })
    await using terminal = startOnTerminal(program(workshop.folder, args), { cwd: workshop.folder })
    await terminal.waitForLine(shown)
    terminal.type(ctrlC)
    const { code } = await terminal.exited
    const output = terminal.stdout()
    expect(code, output).toBe(args === 'audit' ? 3 : 0)
    expect(output.endsWith('\n'), output).toBe(true)
    // Never hidden, so never to be shown again.
    expect(output).not.toContain('\u001B[?25l')
  })
})
