import { projectFolder } from '../project-folder.ts'

/** What tests start often: the program, and the entries of the tests that assemble the real parts. */
export const programs = {
  cli: `${projectFolder}src/cli.ts`,
  command: `${projectFolder}test/entry/command.ts`,
  commits: `${projectFolder}test/state/commit-loop.ts`,
  replay: `${projectFolder}test/entry/replay.ts`,
  ship: `${projectFolder}test/entry/ship.ts`,
  sinkChild: `${projectFolder}test/sinks/file/sink-child.ts`,
} as const
export type ProgramName = keyof typeof programs
