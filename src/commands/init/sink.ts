import { dirname } from 'node:path'
import { ConfigErrors } from '../../config/schema/config-errors.ts'
import { loadConfig } from '../../config/load/load.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { property } from '../../config/schema/shape.ts'
import { printable } from '../../domain/text/printable.ts'
import { UsageError } from '../registration.ts'
import { destinations, type Destination } from './destinations.ts'
import type { Document } from './document.ts'
import { draftOf, refusal } from './draft.ts'
import type { InitContext } from './context.ts'
import { askDestination, askSettings, defaultsIn, insist } from './questions.ts'
import { setInSink, type Assignment } from './set.ts'

/** One sink as the configuration has it; its secrets are KeptSecrets. */
export type Sink = Readonly<Record<string, unknown>>

/**
 * The sink from options or answers, once a configuration with it loads. Throws UsageError; on a terminal it prints the
 * error and asks again.
 */
export async function checkedDestination(
  documentWith: (sink: Sink) => Document,
  context: InitContext,
): Promise<Sink> {
  const { asker, options, cwd } = context
  const checked = async (): Promise<Sink> => {
    const sink = await sinkOf(context)
    const { draft, env } = draftOf(documentWith(sink))
    try {
      loadConfig({ draft, env, cwd })
      return sink
    } catch (error) {
      throw error instanceof ConfigErrors ? refusal(error) : error
    }
  }
  // What an option says would be wrong again.
  if (asker === undefined || options.destination !== undefined) return checked()
  const tried = async () => {
    try {
      return await checked()
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      asker.stderr.write(`${error.message}\n`)
      return undefined
    }
  }
  return insist(async () => '', tried, asker)
}

async function sinkOf(context: InitContext): Promise<Sink> {
  const { asker, options, ofSink, cwd, file } = context
  const destination =
    asker !== undefined && options.destination === undefined
      ? await askDestination(asker)
      : destinationOf(options.destination ?? '')
  const given = [...optionsOf(destination, context), ...ofSink]
  const apply = (sink: Sink, assignments: readonly Assignment[]) =>
    assignments.reduce((held, one) => setInSink(held, one, { destination, cwd }), sink)
  const name = destination.name === 'file' ? 'archive' : destination.name
  const defaults = defaultsIn(dirname(file))
  const plain = apply({ name, ...destination.fixed }, given)
  if (asker !== undefined) return apply(plain, await askSettings(destination, plain, defaults, asker))
  const absent = (destination.form.required ?? []).filter((key) => !(key in plain) && key in defaults)
  return apply(
    plain,
    absent.map((key) => ({ path: [key], text: defaults[key]! })),
  )
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
