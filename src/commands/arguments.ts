import { InvalidArgumentError } from 'commander'
import { safeName } from '../config/fields/fields.ts'
import { systemClock } from '../clock.ts'
import { dayOf, parseDay, shiftDay, type Day } from '../domain/day.ts'

/** Parses `2026-11-20`, `today` or `yesterday`, in UTC. */
export function dayArgument(text: string): Day {
  const today = dayOf(systemClock.now())
  if (text === 'today') return today
  if (text === 'yesterday') return shiftDay(today, -1)
  const day = parseDay(text)
  if (day !== undefined) return day
  const meant = monthFirst(text)
  const hint = meant === undefined ? `such as ${today}` : `here ${meant}`
  throw new InvalidArgumentError(`days are UTC and written YYYY-MM-DD, ${hint}, or today, or yesterday.`)
}

/** The same for an option that may be repeated and takes comma lists; oldest first, without duplicates. */
export function collectDays(text: string, before: readonly Day[] = []): Day[] {
  const named = nameList(text)
  return [...new Set([...before, ...(named.length === 0 ? [text] : named).map(dayArgument)])].sort()
}

/** Parses `11-20-2026`, the API's own form of a day. */
function monthFirst(text: string): Day | undefined {
  const [, month, date, year] = /^(\d\d)[-/](\d\d)[-/](\d{4})$/.exec(text) ?? []
  return parseDay(`${year}-${month}-${date}`)
}

export function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('use a whole number.')
}

export function atLeastOne(text: string): number {
  const count = wholeNumber(text)
  if (count >= 1) return count
  throw new InvalidArgumentError('use a whole number of at least 1.')
}

export function idList(text: string): number[] {
  return nameList(text).map(wholeNumber)
}

export function nameList(text: string): string[] {
  return text.split(',').flatMap((name) => name.trim() || [])
}

/** For options that may be repeated and take comma lists. */
export function collectNames(text: string, before: readonly string[] = []): string[] {
  return [...before, ...nameList(text)]
}

/** The same characters that the configuration allows in a sink's name. */
export function sinkNameArgument(text: string): string {
  if (safeName.test(text)) return text
  throw new InvalidArgumentError('use at most 63 lower-case letters, digits, "_" and "-".')
}
