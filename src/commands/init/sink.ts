import { dirname } from 'node:path'
import { ConfigErrors, type ConfigError } from '../../config/errors.ts'
import { loadConfig } from '../../config/load.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { property } from '../../config/shape.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { UsageError } from '../command.ts'
import { destinations, type Destination, setInSink, type Assignment } from './settings.ts'
import type { Document } from './document.ts'
import { answerText, draftOf, refusal } from './document.ts'
import type { InitContext } from './questions.ts'
import { askDestination, askName, askSettings, defaultsIn, insist, tried } from './questions.ts'

/** One sink as the configuration has it; its secrets are KeptSecrets. */
export type Sink = Readonly<Record<string, unknown>>

/**
 * The sink from options or answers, once a configuration with it loads. Throws UsageError; on a terminal it asks again
 * for an answer that is wrong.
 */
export async function checkedDestination(
  documentWith: (sink: Sink) => Document,
  context: InitContext,
): Promise<Sink> {
  const { asker, options, ofSink, cwd, file } = context
  const errorsOf = (sink: Sink): readonly ConfigError[] => {
    const { draft, env } = draftOf(documentWith(sink))
    try {
      loadConfig({ draft, env, cwd })
      return []
    } catch (error) {
      if (error instanceof ConfigErrors) return error.errors
      throw error
    }
  }
  const refuse = (errors: readonly ConfigError[]) => {
    if (errors.length > 0) throw refusal(errors)
  }
  const destination =
    asker !== undefined && options.destination === undefined
      ? await askDestination(asker)
      : destinationOf(options.destination ?? '')
  const apply = (sink: Sink, assignments: readonly Assignment[]) =>
    assignments.reduce((held, one) => setInSink(held, one, { destination, cwd }), sink)
  const isNamed = ofSink.some(({ path }) => path[0] === 'name')
  const usual = usualName(destination)
  const name = asker === undefined || isNamed ? usual : await askName(usual, asker)
  const defaults = defaultsIn(dirname(file))
  const plain = apply({ name, ...destination.fixed }, [...optionsOf(destination, context), ...ofSink])
  if (asker === undefined) {
    const absent = (destination.form.required ?? []).filter((key) => !(key in plain) && key in defaults)
    const sink = apply(
      plain,
      absent.map((key) => ({ path: [key], text: defaults[key]! })),
    )
    refuse(errorsOf(sink))
    return sink
  }
  // What an option says would be wrong again, whatever is answered.
  refuse(errorsOf(plain).filter(({ path }) => isAtOneOf(path, Object.keys(plain))))
  const tryAnswers = (answers: readonly Assignment[]) => {
    const wrong = errorsOf(apply(plain, answers)).filter(({ path }) =>
      isAtOneOf(
        path,
        answers.map(({ path: [key = ''] }) => key),
      ),
    )
    if (wrong.length > 0) throw new UsageError(wrong.map(answerText).join('\n'))
  }
  return insist(
    async () => '',
    () =>
      tried(async () => {
        const sink = apply(plain, await askSettings(destination, plain, defaults, tryAnswers, asker))
        const errors = errorsOf(sink)
        if (errors.length > 0) throw new UsageError(errors.map(answerText).join('\n'))
        return sink
      }, asker),
    asker,
  )
}

/** Whether an error is about one of these settings of the sink. */
function isAtOneOf(path: string, keys: readonly string[]): boolean {
  return keys.some((key) => path === `sinks[0].${key}` || path.startsWith(`sinks[0].${key}.`))
}

/** A name says what the sink is for: a preset may change, and under another name everything would be shipped again. */
function usualName({ name }: Destination): string {
  if (name === 'file') return 'archive'
  return name === 'stdout' ? 'stdout' : 'siem'
}

function destinationOf(name: string): Destination {
  const all = destinations()
  const found = all.find((each) => each.name === name)
  if (found !== undefined) return found
  const names = all.map((each) => each.name)
  const near = nearest(name, names)
  const hint = near === undefined ? '' : ` Did you mean ${near}?`
  throw new UsageError(`--destination ${printable(name)} is unknown.${hint} There is ${names.join(', ')}.`)
}

/** `--path` and `--url`, for destinations that have such a setting. */
function optionsOf({ name, form }: Destination, { options }: InitContext): Assignment[] {
  return (['path', 'url'] as const).flatMap((key) => {
    const text = options[key]
    if (text === undefined) return []
    if (property(form, key) === undefined) throw new UsageError(`--${key}: destination ${name} has no ${key}`)
    return [{ path: [key], text }]
  })
}
