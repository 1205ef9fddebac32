import { getSystemErrorMap } from 'node:util'

/** Such as `no such file or directory (ENOENT)`. */
export function systemErrorText(error: unknown): string {
  const code = systemCode(error)
  const meaning = [...getSystemErrorMap().values()].find(([name]) => name === code)?.[1]
  return meaning === undefined ? code : `${meaning} (${code})`
}

/** Such as `ENOENT`. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
