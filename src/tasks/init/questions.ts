import { dirname, resolve } from 'node:path'
import { scalarForm } from '../../config/shape.ts'
import { literal } from '../../config/templates.ts'
import { meantZone } from '../../discovery/list-zones.ts'
import { cancelled, isFailure } from '../../domain/failure.ts'
import { printable, wrapPlain } from '../../domain/text/terminal-text.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'
import { programName } from '../../terminal/program-name.ts'
import { type Io, UsageError } from '../../terminal/io.ts'
import { nameList, unknownName } from '../options.ts'
import { table, type Column, paintFor, wrapped } from '../../terminal/text.ts'
import { type Assignment, type Destination, destinations, type Draft } from './draft.ts'

export interface InitOptions {
  readonly file?: string
  /** The file that -c names, where `--file` names none. */
  readonly config?: string
  readonly accessKeyFile?: string
  readonly zones?: string[]
  readonly destination?: string
  readonly path?: string
  readonly url?: string
  readonly set?: string[]
  readonly yes?: boolean
}

export interface Context {
  readonly options: InitOptions
  readonly io: Io
  /** False without a terminal, and with --yes. */
  readonly asks: boolean
  /** The file to write, absolute. */
  readonly file: string
  readonly assignments: readonly Assignment[]
}

export interface Step<Value> {
  /** What an option says: nothing is asked then. */
  readonly given?: string | undefined
  /** Shown before the question. */
  readonly menu?: string
  readonly question: string
  readonly isHidden?: boolean
  /** What an empty answer stands for. Absent: an answer is needed. */
  readonly usual?: string | undefined
  /** Throws UsageError, or Failure `unauthorised`, for an answer that is wrong: it is shown, and the question repeated. */
  readonly accept: (text: string) => Value | Promise<Value>
}

const mostTries = 3

export async function settle<Value>(step: Step<Value>, { asks, io }: Context): Promise<Value> {
  const { given = asks ? undefined : (step.usual ?? ''), menu = '', question, isHidden, accept } = step
  if (given !== undefined) return accept(given)
  io.stderr.write(menu)
  for (let tries = 0; tries < mostTries; tries++) {
    const answer = (await io.ask!(question, isHidden)).trim()
    if (io.signal.aborted) throw cancelled(io.signal.reason)
    try {
      if (answer === '' && step.usual === undefined) throw new UsageError('an answer is needed')
      return await accept(answer === '' ? step.usual! : answer)
    } catch (error) {
      if (!(error instanceof UsageError || isFailure(error, 'unauthorised'))) throw error
      const why = error instanceof UsageError ? error.message : printable(error.message)
      io.stderr.write(wrapped(`${why}\n`, io.stderr))
    }
  }
  throw new UsageError('no valid answer; nothing was written')
}

type ZoneToShip = number | Pick<ListedZone, 'id' | 'name'>

const mostShown = 50

export function zonesStep(
  listed: readonly ListedZone[] = [],
  { options: { zones: given }, io: { stderr } }: Context,
): Step<'all' | readonly ZoneToShip[]> {
  const columns: readonly Column<ListedZone>[] = [
    ['     zone', (zone) => `  ${listed.indexOf(zone) + 1}) ${zone.id}`],
    ['name', ({ name }) => printable(name), { least: 8 }],
    ['pull zone', ({ pullZone = '' }) => String(pullZone)],
    ['plan', ({ plan = '' }) => printable(plan)],
  ]
  const lines = table(listed.slice(0, mostShown), columns, paintFor(stderr))
  const more = listed.length - mostShown
  const rest = more > 0 ? [`  and ${more} more: ${programName()} zones`] : []
  const word = given === undefined ? 'zone' : '--zones'
  /** An answer may be the number before a zone. */
  const numbered = (text: string) =>
    (given === undefined && String(listed[Number(text) - 1]?.id ?? '')) || text
  return {
    given: given?.join(','),
    menu: listed.length === 0 ? '' : `${['Shield zones of this account:', ...lines, ...rest].join('\n')}\n`,
    question: listed.length === 0 ? 'Ids of the zones to ship: ' : 'Zones to ship (all, or numbers): ',
    usual: 'all',
    accept(text) {
      const names = nameList(text.replaceAll(/\s+/g, ',')).map(numbered)
      if (names.length === 1 && names[0] === 'all') return 'all'
      if (names.length === 0) throw new UsageError(`${word} names no zone: write all, or ids such as 101,102`)
      const chosen = new Set(names.map((name) => zoneOf(name, listed, word)))
      return [...chosen].map((zone) => (typeof zone === 'number' ? zone : written(zone, listed)))
    },
  }
}

/** `word` is what errors call it: the option, or what was asked for. */
function zoneOf(text: string, listed: readonly ListedZone[], word: string): number | ListedZone {
  const found = listed.find(({ id, name }) => String(id) === text || name === text)
  if (found !== undefined) return found
  if (listed.length === 0 && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  const meant = meantZone(Number(text), listed)
  if (meant !== undefined) throw new UsageError(`${word} ${meant}`)
  const names = listed.map(({ id }) => String(id))
  throw unknownName({ option: word, name: text, what: 'is not a zone of this account', names })
}

/** With its name, where the configuration takes it: unique, and not the id of another zone. */
function written(zone: ListedZone, listed: readonly ListedZone[]): ZoneToShip {
  const { id, name } = zone
  const isTaken = listed.some((each) => each !== zone && [each.name, String(each.id)].includes(name))
  return name === '' || isTaken ? id : { id, name: literal(name) }
}

export function destinationStep({ options: { destination: given } }: Context): Step<Destination> {
  const all = destinations()
  const names = all.map(({ name }) => name)
  return {
    given,
    menu: `Where should events go?\n${sideBySide(all.map(({ label }, index) => `${index + 1}) ${label}`))}\n`,
    question: '> ',
    accept(text) {
      const chosen =
        all.find(({ name }) => name === text) ?? (given === undefined ? all[Number(text) - 1] : undefined)
      if (chosen !== undefined) return chosen
      if (given === undefined) throw new UsageError(`Answer with a number from 1 to ${all.length}.`)
      throw unknownName({ option: '--destination', name: text, what: 'is unknown', names })
    },
  }
}

/** On few lines, so that on a small terminal what was shown before stays in sight. */
function sideBySide(texts: readonly string[]): string {
  const unbroken = texts.map((text) => text.replaceAll(' ', '\u00A0')).join('  ')
  return wrapPlain(unbroken, 76)
    .map((line) => `  ${line.trim().replaceAll('\u00A0', ' ')}`)
    .join('\n')
}

type Question = Omit<Step<Draft>, 'accept'> & { readonly path: readonly string[] }

/** What is asked of a sink: its name, what it requires, its place, its secrets, and for a plain receiver its credentials. */
export function questionsFor({ name, form }: Destination, given: Draft, file: string): Question[] {
  const { required = [], properties = {} } = form
  const names: Readonly<Record<string, string>> = { file: 'archive', stdout: 'stdout' }
  const usuals: Readonly<Record<string, string>> = {
    // It says what the sink is for: under another name, as of another preset later, everything is shipped again.
    name: names[name] ?? 'siem',
    path: literal(resolve(dirname(file), 'var/events')),
  }
  // Without either of them nothing works, though each may be left out.
  const places: Readonly<Record<string, readonly string[]>> = { s3: ['endpoint', 'region'] }
  const secrets = Object.keys(properties).filter(
    (key) => scalarForm(properties[key]!)?.['x-marks']?.kind === 'secret',
  )
  const isOpen = (key: string) => ![key, `${key}File`].some((each) => each in given)
  const needed = ['name', ...required].filter((key) => key !== 'type' && key !== 'preset')
  const asked = [...needed, ...(places[name] ?? []), ...secrets]
  const questions = [...new Set(asked)].filter(isOpen).map((key): Question => {
    const isHidden = secrets.includes(key)
    const usual = usuals[key] ?? (needed.includes(key) ? undefined : '')
    const form = properties[key]
    const about = form && (form.description ?? scalarForm(form)?.description)
    const what = key === 'name' ? 'Name of the sink, which must stay the same' : about
    const notes = [...(isHidden ? ['hidden'] : []), ...(usual === '' ? ['empty for none'] : [])].join('; ')
    const hint = notes === '' ? (usual === undefined ? '' : ` [${usual}]`) : ` (${notes})`
    return { path: [key], question: `${[key, what ?? []].flat().join(': ')}${hint}: `, isHidden, usual }
  })
  if (!('headers' in properties) || !isOpen('headers') || secrets.length > 0) return questions
  const question = 'Authorization header, such as "Bearer …" (hidden; empty for none): '
  return [...questions, { path: ['headers', 'Authorization'], question, isHidden: true, usual: '' }]
}
