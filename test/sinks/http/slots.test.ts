import { describe, expect, it } from 'vitest'
import { createSlots } from '../../../src/sinks/http/exchanges.ts'

const never = new AbortController().signal

describe('slots', () => {
  it('admits the configured number, and the others in order', async () => {
    const slots = createSlots(2)
    const order: string[] = []
    const waiting = async (name: string) => {
      const give = await slots.take(never)
      order.push(name)
      return give
    }
    const [first, second] = [await waiting('first'), await waiting('second')]
    const [third, fourth] = [waiting('third'), waiting('fourth')]
    second()
    const giveThird = await third
    expect(order).toEqual(['first', 'second', 'third'])
    first()
    giveThird()
    ;(await fourth)()
    expect(order.at(-1)).toBe('fourth')
  })

  it('removes a waiting caller that aborts, also in the step in which it got the slot', async () => {
    const slots = createSlots(1)
    const give = await slots.take(never)
    const stop = new AbortController()
    const early = slots.take(stop.signal)
    const both = new AbortController()
    const late = slots.take(both.signal)
    stop.abort()
    await expect(early).rejects.toMatchObject({ code: 'cancelled' })
    both.abort()
    give()
    await expect(late).rejects.toMatchObject({ code: 'cancelled' })
    const again = await slots.take(never)
    again()
    await expect(slots.take(AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' })
    const last = await slots.take(never)
    last()
  })
})
