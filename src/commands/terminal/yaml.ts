import { yamlText } from '../../config/print.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { jsonResult } from './text.ts'

/** A result as JSON, or for people as the same in YAML: members without a value are left out, unsafe characters escaped. */
export function resultText(value: unknown, json = false): string {
  if (json) return jsonResult(value)
  const held: unknown = JSON.parse(JSON.stringify(value, (_, member: unknown) => member ?? undefined))
  return yamlText(held)
    .trimEnd()
    .split('\n')
    .map((line) => `${printable(line, Infinity)}\n`)
    .join('')
}
