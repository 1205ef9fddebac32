import { printable } from '../../domain/text/printable.ts'

/** `101 (shop)`, or the id alone where the name adds nothing. Escapes the name. */
export function zoneText(id: number, name: string): string {
  return name === '' || name === String(id) ? String(id) : `${id} (${printable(name)})`
}
