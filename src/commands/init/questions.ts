import { scalarForm, type Shape } from '../../config/shape.ts'
import { cancelled } from '../../domain/failure.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'
import { type Io, UsageError } from '../command.ts'
import { programName } from '../program-name.ts'
import { tableLines } from '../terminal/table.ts'
import { paintFor, wrapped } from '../terminal/text.ts'
import { type Destination, destinations, type Draft } from './draft.ts'

/** A terminal on which the user answers. */
export type Asker = Required<Pick<Io, 'ask' | 'askHidden'>> & Pick<Io, 'stderr' | 'signal'>

const mostTries = 3
const mostShown = 50

/** Asks until an answer is accepted: `accept` throws UsageError, which is shown, for one that is not. */
export async function insist<Value>(
  question: string,
  accept: (answer: string) => Value | Promise<Value>,
  { ask, askHidden, stderr, signal }: Asker,
  isHidden = false,
): Promise<Value> {
  for (let tries = 0; tries < mostTries; tries++) {
    const answer = await (isHidden ? askHidden(question) : ask(question))
    if (signal.aborted) throw cancelled(signal.reason)
    try {
      return await accept(answer.trim())
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      stderr.write(wrapped(`${error.message}\n`, stderr))
    }
  }
  throw new UsageError('no valid answer; nothing was written')
}

/** Asks which of the listed zones to ship. `choose` finds zones by ids or names and throws UsageError. */
export async function askZones<Chosen>(
  listed: readonly ListedZone[],
  choose: (answer: string) => Chosen,
  asker: Asker,
): Promise<Chosen> {
  const { stderr } = asker
  const rows = listed
    .slice(0, mostShown)
    .map(({ id, name, pullZone = '', plan = '' }, index) => [
      `${index + 1}) ${id}`,
      printable(name),
      String(pullZone),
      printable(plan),
    ])
  const titles = ['   zone', 'name', 'pull zone', 'plan']
  const table = tableLines(titles, rows, { indent: '  ', width: paintFor(stderr).width })
  const more = listed.length - mostShown
  const rest = more > 0 ? [`  and ${more} more: ${programName()} zones`] : []
  if (listed.length > 0) stderr.write(`${['Shield zones of this account:', ...table, ...rest].join('\n')}\n`)
  const question = listed.length > 0 ? 'Zones to ship (all, or numbers): ' : 'Ids of the zones to ship: '
  const idOf = (text: string) => (/^\d+$/.test(text) ? String(listed[Number(text) - 1]?.id ?? text) : text)
  const idsIn = (answer: string) => answer.split(/[,\s]+/).map(idOf)
  return insist(question, (answer) => choose(idsIn(answer).join(',') || 'all'), asker)
}

/** Asks where events go. */
export async function askDestination(asker: Asker): Promise<Destination> {
  const all = destinations()
  const menu = all.map(({ label }, index) => `  ${index + 1}) ${label}\n`)
  asker.stderr.write(`Where should events go?\n${menu.join('')}`)
  return insist(
    '> ',
    (answer) => {
      const chosen = all[Number(answer) - 1] ?? all.find(({ name }) => name === answer)
      if (chosen === undefined) throw new UsageError(`Answer with a number from 1 to ${all.length}.`)
      return chosen
    },
    asker,
  )
}

interface Question {
  readonly path: readonly string[]
  readonly text: string
  readonly isHidden: boolean
  /** What an empty answer stands for; the empty text leaves the setting out. Absent: an answer is needed. */
  readonly fallback?: string
}

/** What is asked of a sink: its name, what it requires, its secrets, and for a plain receiver its credentials. */
export function questionsFor(
  { required = [], properties = {} }: Shape,
  given: Draft,
  usual: Readonly<Record<string, string>>,
): Question[] {
  const isOpen = (key: string) => !(key in given) && !(`${key}File` in given)
  const needed = ['name', ...required].filter((key) => isOpen(key) && key !== 'type' && key !== 'preset')
  const secrets = Object.keys(properties).filter((key) => isSecret(properties[key]!))
  const optional = secrets.filter((key) => isOpen(key) && !needed.includes(key))
  const textOf = (key: string, hint: string) => {
    const description =
      key === 'name' ? 'Name of the sink, which must stay the same' : properties[key]?.description
    return `${[key, description ?? []].flat().join(': ')}${hint}: `
  }
  const credentials = 'Authorization header, such as "Bearer …" (hidden; empty for none): '
  return [
    ...needed.map((key) => {
      const isHidden = secrets.includes(key)
      const fallback = usual[key]
      const hint = isHidden ? ' (hidden)' : fallback === undefined ? '' : ` [${fallback}]`
      return { path: [key], text: textOf(key, hint), isHidden, ...(fallback !== undefined && { fallback }) }
    }),
    ...optional.map((key) => ({
      path: [key],
      text: textOf(key, ' (hidden; empty for none)'),
      isHidden: true,
      fallback: '',
    })),
    ...('headers' in properties && isOpen('headers') && secrets.length === 0
      ? [{ path: ['headers', 'Authorization'], text: credentials, isHidden: true, fallback: '' }]
      : []),
  ]
}

function isSecret(field: Shape): boolean {
  return scalarForm(field)?.['x-marks']?.kind === 'secret'
}
