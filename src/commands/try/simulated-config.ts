import { writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { messageOf } from '../../domain/failure.ts'
import { printable } from '../../domain/text/printable.ts'

export interface Simulated {
  readonly url: string
  readonly accessKey: string
  readonly zones: readonly number[]
  readonly firstPage: string
  readonly days: number
}

/** Days that the API keeps readable, and the default of `poll.readableDays`. */
export const usualReadableDays = 3

/** The simulator answers the default form of the first page. */
export function isDefaultFirstPage(firstPage: string): boolean {
  return firstPage === 'omit' || firstPage === 'any'
}

/** Writes a configuration for a running simulator, readable by its owner alone. Returns why it could not. */
export function writeSimulatedConfig(file: string, simulated: Simulated): string | undefined {
  try {
    writeFileSync(file, simulatedConfig(resolve(file), simulated), { mode: 0o600, flag: 'wx' })
    return undefined
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    const name = printable(file, 1000)
    return exists
      ? `${name} exists already. Remove it, or use another file with --write-config.`
      : `${name} cannot be written: ${messageOf(error)}`
  }
}

/** YAML; texts are written as JSON, which YAML includes. State and events stand beside the file, in a folder of its name. */
function simulatedConfig(file: string, { url, accessKey, zones, firstPage, days }: Simulated): string {
  const folder = join(dirname(file), `${basename(file, extname(file))}-data`)
  const text = (value: string) => JSON.stringify(value.replaceAll('${', () => '$${'))
  return [
    '# For a simulator that "shieldlog simulate" serves. Its next start may use another address; write a new file then.',
    'api:',
    `  baseUrl: ${text(url)}`,
    `  accessKey: ${text(accessKey)}`,
    ...(isDefaultFirstPage(firstPage) ? [] : [`  firstPage: ${text(firstPage)}`]),
    `zones: [${zones.join(', ')}]`,
    'poll:',
    '  everySeconds: 2',
    ...(days <= usualReadableDays ? [] : [`  readableDays: ${days}`]),
    '# Simulated events must not mix with those of a real account.',
    `state: ${text(`sqlite:${join(folder, 'shieldlog.db')}`)}`,
    'sinks:',
    `  - { name: archive, type: file, path: ${text(join(folder, 'events'))} }`,
    '',
  ].join('\n')
}
