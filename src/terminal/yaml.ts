import { yamlText } from '../config/print.ts'
import { isExactNumber } from '../domain/text/json.ts'
import { printable } from '../domain/text/terminal-text.ts'
import { jsonResult } from './text.ts'

/**
 * A result as JSON, or for people as the same in YAML: members without a value are left out, unsafe characters escaped.
 * Numbers that JavaScript cannot hold are text there.
 */
export function resultText(value: unknown, json = false): string {
  if (json) return jsonResult(value)
  const plain = (_: string, member: unknown) =>
    isExactNumber(member) ? member.rawJSON : (member ?? undefined)
  const held: unknown = JSON.parse(JSON.stringify(value, plain))
  return yamlText(held)
    .trimEnd()
    .split('\n')
    .map((line) => `${printable(line, Infinity)}\n`)
    .join('')
}
