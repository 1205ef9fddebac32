import { resolve } from 'node:path'
import type { Io } from '../command.ts'
import { isOfSection, parseAssignment, type Assignment, destinations, type Destination } from './settings.ts'
import { safeName } from '../../config/fields/fields.ts'
import { property, scalarForm, type Shape } from '../../config/shape.ts'
import { cancelled } from '../../domain/failure.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { UsageError } from '../command.ts'
import { programName } from '../program-name.ts'
import { tableLines } from '../terminal/table.ts'
import { paintFor, wrapped } from '../terminal/text.ts'
import { literal } from './document.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'

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

/** What every step of `init` needs. */
export interface InitContext {
  readonly options: InitOptions
  readonly io: Io
  /** Absent without a terminal. */
  readonly asker: Asker | undefined
  /** The file to write, absolute. */
  readonly file: string
  readonly cwd: string
  /** Settings of sections and of the sink, from `--set`. */
  readonly sections: readonly Assignment[]
  readonly ofSink: readonly Assignment[]
}

/** Throws UsageError. */
export function contextOf(options: InitOptions, io: Io): InitContext {
  const cwd = process.cwd()
  const { ask, askHidden, stderr, signal } = io
  const canAsk = options.yes !== true && ask !== undefined && askHidden !== undefined
  const assignments = (options.set ?? []).map(parseAssignment)
  return {
    options,
    io,
    asker: canAsk ? { ask, askHidden, stderr, signal } : undefined,
    file: resolve(cwd, options.file ?? options.config ?? 'shieldlog.yaml'),
    cwd,
    sections: assignments.filter(isOfSection),
    ofSink: assignments.filter((assignment) => !isOfSection(assignment)),
  }
}

/** A terminal on which the user answers. */
type Asker = Required<Pick<Io, 'ask' | 'askHidden'>> & Pick<Io, 'stderr' | 'signal'>

/** No answer was accepted; asking once more would not help. */
class NoAnswerError extends UsageError {}

const mostTries = 3
const mostShown = 50

/** Asks until an answer is accepted: `accept` returns undefined, after it has said why, for one that is not. */
export async function insist<Value>(
  ask: () => Promise<string>,
  accept: (answer: string) => Value | undefined | Promise<Value | undefined>,
  { signal }: Pick<Asker, 'signal'>,
): Promise<Value> {
  for (let tries = 0; tries < mostTries; tries++) {
    const answer = await ask()
    if (signal.aborted) throw cancelled(signal.reason)
    const value = await accept(answer.trim())
    if (value !== undefined) return value
  }
  throw new NoAnswerError('no valid answer; nothing was written')
}

/** The result, or undefined after the reason was printed, so that the question is asked again. */
export async function tried<Value>(
  work: () => Value | Promise<Value>,
  { stderr }: Pick<Asker, 'stderr'>,
): Promise<Value | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof UsageError) || error instanceof NoAnswerError) throw error
    stderr.write(wrapped(`${error.message}\n`, stderr))
    return undefined
  }
}

/** Asks which of the listed zones to ship. `choose` finds zones by ids or names and throws UsageError. */
export async function askZones<Chosen>(
  listed: readonly ListedZone[],
  choose: (answer: string) => Chosen,
  asker: Asker,
): Promise<Chosen> {
  const { ask, stderr } = asker
  if (listed.length > 0) {
    stderr.write('Shield zones of this account:\n')
    for (const line of zoneLines(listed.slice(0, mostShown), paintFor(stderr).width))
      stderr.write(`${line}\n`)
    if (listed.length > mostShown)
      stderr.write(`  and ${listed.length - mostShown} more: ${programName()} zones\n`)
  }
  const question = listed.length > 0 ? 'Zones to ship (all, or numbers): ' : 'Ids of the zones to ship: '
  return insist(
    () => ask(question),
    (answer) => {
      const numbered = answer
        .split(/[,\s]+/)
        .map((text) => (/^\d+$/.test(text) ? String(listed[Number(text) - 1]?.id ?? text) : text))
      return tried(() => choose(numbered.join(',') || 'all'), asker)
    },
    asker,
  )
}

/** What `zones` shows of them, with a number each; columns that would be empty are left out. */
function zoneLines(zones: readonly ListedZone[], width: number): string[] {
  const rows = zones.map(({ id, name, pullZone = '', plan = '' }, index) => [
    `${index + 1}) ${id}`,
    printable(name),
    String(pullZone),
    printable(plan),
  ])
  return tableLines(['   zone', 'name', 'pull zone', 'plan'], rows, { indent: '  ', width })
}

/** Asks where events go. */
export async function askDestination(asker: Asker): Promise<Destination> {
  const { ask, stderr } = asker
  const all = destinations()
  stderr.write('Where should events go?\n')
  for (const line of menu(all.map(({ label }, index) => `${index + 1}) ${label}`)))
    stderr.write(`  ${line}\n`)
  return insist(
    () => ask('> '),
    (answer) => {
      const chosen = all[Number(answer) - 1] ?? all.find(({ name }) => name === answer)
      if (chosen === undefined) stderr.write(`Answer with a number from 1 to ${all.length}.\n`)
      return chosen
    },
    asker,
  )
}

/** Asks for the name of the sink; an empty answer takes the usual one. */
export function askName(usual: string, asker: Asker): Promise<string> {
  return insist(
    () => asker.ask(`name: Name of the sink, which must stay the same [${usual}]: `),
    (answer) => {
      const name = answer === '' ? usual : answer
      if (safeName.test(name)) return name
      asker.stderr.write('Use at most 63 lower-case letters, digits, "_" and "-".\n')
      return undefined
    },
    asker,
  )
}

/** Throws UsageError for an answer that is refused. */
type TryAnswers = (answers: readonly Assignment[]) => void

/**
 * Asks for the missing settings of such a sink; an empty answer keeps the default or leaves the setting out. An answer
 * that `tryAnswers` refuses is asked for again, before the next question.
 */
export async function askSettings(
  { form }: Destination,
  given: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, string>>,
  tryAnswers: TryAnswers,
  asker: Asker,
): Promise<Assignment[]> {
  let answers: readonly Assignment[] = []
  const add = async (path: readonly string[], question: string, isHidden: boolean, fallback?: string) => {
    answers = await insist(
      () => (isHidden ? asker.askHidden(question) : asker.ask(question)),
      (answer) => {
        const text = answer === '' ? fallback : answer
        if (text === undefined) return undefined
        const all =
          text === '' ? answers : [...answers, { path, text, ...(isHidden && { isHidden: true as const }) }]
        return tried(() => (tryAnswers(all), all), asker)
      },
      asker,
    )
  }
  for (const key of form.required ?? []) {
    if (key in given || key === 'type' || key === 'preset') continue
    const field = property(form, key) ?? {}
    const fallback = defaults[key]
    const suffix = isSecret(field) ? ' (hidden)' : fallback === undefined ? '' : ` [${fallback}]`
    await add([key], `${describe(key, field)}${suffix}: `, isSecret(field), fallback)
  }
  const isAsked = (key: string) => key in given || answers.some(({ path }) => path[0] === key)
  for (const [key, field] of Object.entries(form.properties ?? {})) {
    if (!isSecret(field) || isAsked(key) || isAsked(`${key}File`)) continue
    await add([key], `${describe(key, field)} (hidden; empty for none): `, true, '')
  }
  if (property(form, 'headers') !== undefined && !('headers' in given) && isPlainHttp(form))
    await add(
      ['headers', 'Authorization'],
      'Authorization header, such as "Bearer …" (hidden; empty for none): ',
      true,
      '',
    )
  return [...answers]
}

/** A destination without secret settings gets credentials in headers. */
function isPlainHttp({ properties = {} }: Shape): boolean {
  return !Object.values(properties).some(isSecret)
}

function isSecret(field: Shape): boolean {
  return scalarForm(field)?.['x-marks']?.kind === 'secret'
}

function describe(key: string, { description }: Shape): string {
  return description === undefined ? key : `${key}: ${description}`
}

/** Texts side by side, as many as fit into 78 columns. */
function menu(texts: readonly string[]): string[] {
  const lines = ['']
  for (const text of texts) {
    const last = lines.at(-1)!
    if (last === '') lines[lines.length - 1] = text
    else if (last.length + 2 + text.length <= 76) lines[lines.length - 1] = `${last}  ${text}`
    else lines.push(text)
  }
  return lines
}

export function defaultsIn(folder: string): Readonly<Record<string, string>> {
  return { path: literal(resolve(folder, 'var/events')) }
}
