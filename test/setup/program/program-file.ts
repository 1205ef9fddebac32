import { join } from 'node:path'
import { projectFolder } from '../project-folder.ts'

/** What tests start often: the program, and the entries of the tests that assemble the real parts. */
export const programs = {
  cli: `${projectFolder}src/cli.ts`,
  command: `${projectFolder}test/entry/command.ts`,
  ship: `${projectFolder}test/entry/ship.ts`,
} as const
export type ProgramName = keyof typeof programs

/** Names the folder of the bundled programs, for the processes that run tests. */
export const bundleVariable = 'SHIELDLOG_TEST_PROGRAMS'

/** The file to start: the bundled program where this run has one, else the source. */
export function programFile(name: ProgramName): string {
  const folder = process.env[bundleVariable]
  return folder === undefined ? programs[name] : join(folder, `${name}.js`)
}

/** Variables of a program's environment: what one process of this run has compiled, the next ones take over. */
export function compiledPrograms(): Readonly<Record<string, string>> {
  const folder = process.env[bundleVariable]
  return folder === undefined
    ? { NODE_DISABLE_COMPILE_CACHE: '1' }
    : { NODE_COMPILE_CACHE: join(folder, 'compiled') }
}
