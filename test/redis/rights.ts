import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { fencesOf } from '../docs/pages.ts'
import { projectFolder } from '../setup/project-folder.ts'

/** What a file of notes gives to the user `shieldlog`, as arguments of ACL SETUSER; its password is `password`. */
export function rightsIn(path: string, password: string): readonly string[] {
  const notes = readFileSync(`${projectFolder}${path}`, 'utf8')
  const [command, ...others] = fencesOf(notes).filter(({ text }) => text.startsWith('ACL SETUSER shieldlog '))
  if (command === undefined || others.length > 0) throw new Error(`${path} gives no rights, or twice`)
  const words = command.text.replaceAll('\\\n', ' ').trim().split(/\s+/).slice(3)
  return words.map((word) => (word === '>PASSWORD' ? `>${password}` : word))
}

/** The commands among the rights, in lower case. */
export function commandsOf(rights: readonly string[]): readonly string[] {
  return rights.flatMap((right) => (right.startsWith('+') ? [right.slice(1).toLowerCase()] : []))
}

/** What the server refused to anybody: user, command or key, and where. */
export async function denials(admin: Redis): Promise<string[]> {
  const log = (await admin.call('ACL', 'LOG')) as unknown[][]
  return log.map((entry) => {
    const at = (name: string) => String(entry[entry.indexOf(name) + 1])
    return `${at('username')}: ${at('reason')} ${at('object')} (${at('context')})`
  })
}
