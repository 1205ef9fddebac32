import type { Reply } from '../../../contract/scripted-destination.ts'
import type { Got } from '../destination-server.ts'

/** Ids of the events in a body, in their order: every protocol holds a native line, whole or as text in JSON. */
export function idsIn({ text }: Got): string[] {
  return [...text.matchAll(/\bevent-\d+\b/g)]
    .map(([id]) => id)
    .filter((id, at, all) => all.indexOf(id) === at)
}

/** The secret of a request in a header. */
export function headerOf(name: string) {
  return ({ headers }: Got): string => String(headers[name] ?? '')
}

/** A destination that answers for a body as a whole. */
export function wholeBody(taken: Reply, unauthorised: Reply) {
  return {
    taken: () => taken,
    refused: () => ({ reply: { status: 400, body: 'bad request' }, stored: [] }),
    unauthorised,
  }
}
