// Commits to one stream until it is killed, and prints every answer that it got: "<commit> <first fingerprint>".
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../../src/clock.ts'
import { openRedisStore } from '../../setup/stores.ts'
import {
  buildCommit,
  buildDeadLetter,
  buildStream,
  packed,
} from '../../contract/checkpoint-store/builders.ts'
import { stateAt } from './settings.ts'

const [url = '', keyPrefix = '', zone = '0', count = 'Infinity'] = process.argv.slice(2)
const stream = buildStream({ zone: Number(zone) })
const store = await openRedisStore({
  state: stateAt(url, { keyPrefix }),
  clock: systemClock,
  deadLetterMaxBytes: 1e9,
  telemetry: { emit: () => {} },
})
const { fence, checkpoint } = await store.ledger.take(stream, { id: randomUUID(), schedule: true })
let number = checkpoint?.commit ?? 0
const last = number + Number(count)
while (number < last) {
  const from = number * 100
  const commit = buildCommit(stream, fence, number, {
    seen: new Map([
      [number % 5, packed(from, 60)],
      [5 + (number % 300), packed(from + 60, 40)],
    ]),
    deadLetters: [buildDeadLetter({ zone: stream.zone, id: `e${number}` })],
  })
  if ((await store.ledger.commit(commit)) === 'refused') break
  number++
  process.stdout.write(`${number} ${from}\n`)
}
await store.close()
