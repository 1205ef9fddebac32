import * as z from 'zod'

/** Listed values pass; with `not`, all others do. */
function listOrNot<Item extends z.ZodType>(item: Item, description: string) {
  const list = z.array(item).min(1)
  return z
    .union([list, z.strictObject({ not: list.describe('Events with these values stay out') })])
    .optional()
    .describe(description)
}

const text = z.string().min(1)

/** Which events a sink gets. An event must pass every list that is given. */
export const where = z
  .strictObject({
    zones: listOrNot(z.union([z.int().min(0), text]), 'Shield zones, by id or name'),
    actions: listOrNot(text, 'Actions such as Blocked, in any case'),
    severities: listOrNot(text, 'Severities such as critical, in any case'),
    rules: listOrNot(z.union([z.int().min(0), text]), 'Ids of rules'),
    countries: listOrNot(text, 'Countries of clients, two letters'),
  })
  .optional()
  .describe('Which events the sink gets; all unless given')

/** Which share of the events with an action a sink gets. */
export const sample = z
  .record(text, z.number().min(0).max(1))
  .optional()
  .describe(
    'Share of the events with an action, from 0 to 1, as in { Logged: 0.1 }; the id of an event decides',
  )
