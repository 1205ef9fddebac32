import { expect, it } from 'vitest'
import { formats } from '../../src/formats/registry.ts'
import { buildEvent } from './events.ts'

it.each(Object.entries(formats))(
  '%s is registered under its name and identifies its lines',
  (name, create) => {
    const format = create()
    const event = buildEvent()
    expect(format.name).toBe(name)
    expect(format.identify(format.encode(event))).toEqual({ id: event.id, time: event.time })
  },
)
