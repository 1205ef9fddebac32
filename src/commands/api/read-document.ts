import { readFile, stat } from 'node:fs/promises'
import { parseYaml } from '../../config/load/yaml-text.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { printable } from '../../domain/text/printable.ts'
import type { Io } from '../io.ts'
import { UsageError } from '../registration.ts'

/** A YAML or JSON document that the user named. */
export interface Document {
  readonly value: unknown
  /** For messages: the file's name as given, or `standard input`. */
  readonly name: string
  /** The line of a place such as `ruleConfiguration.value`, from 1; undefined where the document has no such place. */
  lineOf(place: string): number | undefined
}

const mostBytes = 1_048_576

/** Reads `--file`; `-` is standard input. Throws UsageError for what cannot be read or parsed. */
export async function readDocument(file: string, io: Io): Promise<Document> {
  const name = file === '-' ? 'standard input' : printable(file, 1000)
  const text = await readText(file, io).catch((error: unknown) => {
    if (io.signal.aborted) throw error
    throw new UsageError(`--file ${name} cannot be read: ${printable(systemErrorText(error))}`)
  })
  const { value, lines, errors } = parseYaml(text, name)
  const [first] = errors
  if (first !== undefined)
    throw new UsageError(`--file ${printable(first.where ?? name)} ${first.problem}; ${first.remedy}`)
  return {
    value,
    name,
    lineOf: (place) => lines.get(place),
  }
}

async function readText(file: string, { readInput }: Io): Promise<string> {
  if (file === '-' && readInput !== undefined) return readInput()
  const { size } = await stat(file)
  if (size > mostBytes) throw new Error('it is larger than 1 MiB')
  return readFile(file, 'utf8')
}
