import { exactJson } from '../../src/domain/text/decode.ts'
import type { Json } from '../../src/domain/text/json.ts'

/** A value as it is read from JSON, in which a text such as `#1e400#` stands for a number that JavaScript cannot write. */
export function withNumbers(value: unknown): Json {
  const json = JSON.stringify(value) ?? 'null'
  const numbers = json.replace(/"#(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?)#"(?!:)/g, '$1')
  return (exactJson(`[${numbers}]`) as Json[])[0]!
}
