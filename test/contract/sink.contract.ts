import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import type { AnySink } from '../../src/ports/delivery.ts'
import { buildEvent, buildEvents, never, streamOf, StreamLedger } from '../sinks/file/samples.ts'

// What a harness needs besides; apart from the suite because processes without a test runner use it too.
export {
  buildEvent,
  buildEvents,
  contractFormat,
  idOf,
  never,
  streamOf,
  StreamLedger,
} from '../sinks/file/samples.ts'

/** A sink under test, assembled with `contractFormat`, and the destination it ships to. */
export interface SinkHarness {
  readonly sink: AnySink
  /** Ids of the events that the destination has, in order of arrival; `idOf` reads one line. Waits for so many. */
  received(count: number): Promise<string[]>
  /** Makes the destination fail until the function that it resolves with is called. */
  readonly fail?: () => Promise<() => unknown>
  dispose(): Promise<void>
}

interface SinkTraits {
  /** Takes back what was not committed. */
  readonly isTransactional?: true
  /** The harness has `fail`. */
  readonly canFail?: true
  /** What reaches the destination passes the gate first. */
  readonly canHang?: true
}

/** Holds up what reaches a destination while it is shut. */
export class Gate {
  #reached = Promise.withResolvers<void>()
  #opened = Promise.withResolvers<void>()

  constructor() {
    this.#opened.resolve()
  }

  async pass(): Promise<void> {
    this.#reached.resolve()
    await this.#opened.promise
  }

  /** Resolves when something stands before the gate. */
  shut(): Promise<void> {
    this.#reached = Promise.withResolvers()
    this.#opened = Promise.withResolvers()
    return this.#reached.promise
  }

  open(): void {
    this.#opened.resolve()
  }
}

/** What every sink owes to the pump. */
export function sinkContract(
  name: string,
  traits: SinkTraits,
  createHarness: (gate: Gate) => Promise<SinkHarness>,
): void {
  describe(`a sink: ${name}`, () => {
    let harness: SinkHarness
    let gate: Gate
    let ledger: StreamLedger

    beforeEach(async () => {
      gate = new Gate()
      harness = await createHarness(gate)
      ledger = new StreamLedger(streamOf(harness.sink, 101))
    })
    afterEach(async () => {
      gate.open()
      await harness.sink.close()
      await harness.dispose()
    })

    async function expectReceived(ids: readonly string[]): Promise<void> {
      expect(await harness.received(ids.length)).toEqual(ids)
    }

    it('has stored every event of a delivery, in order, when the delivery resolves', async () => {
      const events = buildEvents(250)
      const opened = await ledger.open(harness.sink)
      const delivery = await opened.deliver(events, never())
      await expectReceived(events.map((event) => event.id))
      expect(delivery.refusals).toEqual([])
      expect(delivery.bytes).toBeGreaterThan(250)
      await opened.close()
    })

    it('accepts one delivery after another, and one pump after another', async () => {
      const opened = await ledger.open(harness.sink)
      ledger.commitDelivery(await opened.deliver(buildEvents(3, 'a'), never()))
      ledger.commitDelivery(await opened.deliver(buildEvents(2, 'b'), never()))
      await opened.close()
      await ledger.ship(harness.sink, buildEvents(1, 'c'))
      await expectReceived(['a-0', 'a-1', 'a-2', 'b-0', 'b-1', 'c-0'])
    })

    it('serves many streams at once', async () => {
      const ledgers = [201, 202, 203, 204].map((zone) => new StreamLedger(streamOf(harness.sink, zone)))
      await Promise.all(
        ledgers.map((ledger) => ledger.ship(harness.sink, buildEvents(20, `z${ledger.stream.zone}`))),
      )
      const received = await harness.received(80)
      expect(received).toHaveLength(80)
      for (const { stream } of ledgers) {
        const ids = buildEvents(20, `z${stream.zone}`).map((event) => event.id)
        expect(received.filter((id) => id.startsWith(`z${stream.zone}-`))).toEqual(ids)
      }
    })

    it('accepts a delivery without events', async () => {
      expect(harness.sink.address).not.toBe('')
      const opened = await ledger.open(harness.sink)
      expect(await opened.deliver([], never())).toMatchObject({ refusals: [], bytes: 0 })
      await opened.close()
      await expectReceived([])
    })

    it('keeps every event on one line, whatever text it holds', async () => {
      const texts = [
        'a\nb\r\nc',
        '\u2028\u2029',
        '\u0000',
        '\ud800 alone',
        '🧨'.repeat(5000),
        '"\\',
        '</script>',
      ]
      const events = texts.map((text, index) => buildEvent(`text-${index}`, { log: { text } }))
      await ledger.ship(harness.sink, events)
      await expectReceived(events.map((event) => event.id))
    })

    it('refuses an event that the format cannot express, and delivers the others', async () => {
      const bad = buildEvent('bad', { action: 'unmappable' })
      const opened = await ledger.open(harness.sink)
      const delivery = await opened.deliver([buildEvent('first'), bad, buildEvent('last')], never())
      await opened.close()
      expect(delivery.refusals).toHaveLength(1)
      expect(delivery.refusals[0]).toMatchObject({ event: { id: 'bad' }, reason: 'unmappable' })
      expect(delivery.refusals[0]!.answer).toContain('no form')
      await expectReceived(['first', 'last'])
    })

    it('accepts nothing after the signal has aborted', async () => {
      const opened = await ledger.open(harness.sink)
      const error = await opened.deliver(buildEvents(2), AbortSignal.abort()).catch((error: unknown) => error)
      expect(error).toBeInstanceOf(Failure)
      expect(error).toMatchObject({ kind: 'cancelled' })
      await opened.close()
      await expectReceived([])
    })

    it('leaves nothing after a check', async () => {
      await harness.sink.check(never())
      await expectReceived([])
    })

    it('closes streams and itself twice, and before first use', async () => {
      const opened = await ledger.open(harness.sink)
      await opened.close()
      await opened.close()
      await harness.sink.close()
      await harness.sink.close()
      const unused = await createHarness(gate)
      await unused.sink.close()
      await unused.dispose()
    })

    if (traits.canFail)
      it('throws a Failure when the destination fails, and delivers when it works again', async () => {
        const repair = await harness.fail!()
        const error = await ledger.ship(harness.sink, buildEvents(2, 'lost')).catch((error: unknown) => error)
        expect(error).toBeInstanceOf(Failure)
        expect((error as Failure).kind).not.toBe('cancelled')
        await repair()
        await ledger.ship(harness.sink, buildEvents(2, 'kept'))
        const received = await harness.received(2)
        expect(received.filter((id) => id.startsWith('kept'))).toEqual(['kept-0', 'kept-1'])
        if (traits.isTransactional) expect(received).toHaveLength(2)
      })

    if (traits.canHang)
      it('returns after an abort, although the destination hangs', async () => {
        const opened = await ledger.open(harness.sink)
        const reached = gate.shut()
        const abort = new AbortController()
        const delivery = opened.deliver(buildEvents(3), abort.signal).catch((error: unknown) => error)
        await reached
        abort.abort()
        expect(await delivery).toMatchObject({ kind: 'cancelled' })
        gate.open()
        await opened.close()
      })

    if (traits.isTransactional)
      it('removes what was not committed', async () => {
        await ledger.ship(harness.sink, buildEvents(2, 'committed'))
        const opened = await ledger.open(harness.sink)
        await opened.deliver(buildEvents(3, 'uncommitted'), never())
        await opened.close()
        await (await ledger.open(harness.sink)).close()
        await expectReceived(['committed-0', 'committed-1'])
      })

    if (traits.isTransactional)
      it('returns committed lengths of every part, which only grow', async () => {
        const opened = await ledger.open(harness.sink)
        const [first] = (await opened.deliver(buildEvents(2), never())).committed
        const [second] = (await opened.deliver(buildEvents(3), never())).committed
        await opened.close()
        expect(first).toMatchObject({ lines: 2 })
        expect(second).toMatchObject({ part: first!.part, writer: first!.writer, lines: 5 })
        expect(second!.bytes).toBeGreaterThan(first!.bytes)
      })
  })
}
