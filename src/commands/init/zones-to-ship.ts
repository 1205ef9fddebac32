import { meantZone } from '../../discovery/list-zones.ts'
import { printable } from '../../domain/text/printable.ts'
import { nameList } from '../arguments.ts'
import { UsageError } from '../registration.ts'
import { unknownName } from '../selection.ts'
import type { Access } from './access.ts'
import type { InitContext } from './context.ts'
import { askZones } from './questions.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'

/** The section `zones` of the configuration. */
export type ZonesToShip = 'all' | readonly ZoneToShip[]
type ZoneToShip = number | { readonly id: number; readonly name: string }

/** Takes the zones from the option, or asks for them. Throws UsageError. */
export async function chooseZonesToShip(
  { listed }: Access,
  { options, asker }: InitContext,
): Promise<ZonesToShip> {
  if (options.zones !== undefined) return zonesOf(nameList(options.zones.join(',')), listed, '--zones')
  if (asker === undefined) throw new UsageError('--zones is missing')
  return askZones(listed ?? [], (text) => zonesOf(nameList(text), listed, 'zone'), asker)
}

/** `word` is what errors call an item: the option, or what was asked for. */
function zonesOf(
  names: readonly string[],
  listed: readonly ListedZone[] | undefined,
  word: string,
): ZonesToShip {
  if (names.length === 1 && names[0] === 'all') return 'all'
  if (names.length === 0) throw new UsageError(`${word} names no zone: write all, or ids such as 101,102`)
  const chosen = names.map((name) => (listed === undefined ? unlisted(name, word) : find(name, listed, word)))
  return [...new Map(chosen.map((zone) => [zone.id, zone])).values()].map((zone) => written(zone, listed))
}

function unlisted(name: string, word: string): Pick<ListedZone, 'id' | 'name'> {
  if (/^[1-9]\d{0,14}$/.test(name)) return { id: Number(name), name: '' }
  throw new UsageError(`${word} ${printable(name)} is not a zone id. Use an integer, such as 101.`)
}

function find(name: string, listed: readonly ListedZone[], word: string): ListedZone {
  const found = listed.find(({ id }) => String(id) === name) ?? listed.find((zone) => zone.name === name)
  if (found !== undefined) return found
  const known = listed.flatMap((zone) => [String(zone.id), ...(zone.name === '' ? [] : [zone.name])])
  const meant = meantZone(Number(name), listed)
  if (meant !== undefined) throw new UsageError(`${word} ${meant}`)
  throw unknownName({ option: word, name, what: 'is not a zone of this account', known })
}

/** With its name, where the configuration takes it: unique, and not the id of another zone. */
function written(
  { id, name }: Pick<ListedZone, 'id' | 'name'>,
  listed: readonly ListedZone[] = [],
): ZoneToShip {
  const isTaken = listed.some(
    (other) => other.id !== id && (other.name === name || String(other.id) === name),
  )
  return name === '' || name.length > 100 || name.includes('${') || isTaken ? id : { id, name }
}
