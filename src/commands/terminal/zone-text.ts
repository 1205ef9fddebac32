import { printable } from '../../domain/text/printable.ts'

/** `101 (shop)`, or the id alone where the name says nothing else. A name may hold anything. */
export function zoneText(id: number, name: string): string {
  return name === '' || name === String(id) ? String(id) : `${id} (${printable(name)})`
}
