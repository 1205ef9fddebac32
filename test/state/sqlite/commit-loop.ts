// Commits to each stream of a comma list of zones, side by side, until it is killed, and prints every answer that it got
// for all of them: "<commit> <first fingerprint>".
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../../src/clock.ts'
import { openSqliteStore } from '../../setup/stores.ts'
import {
  buildCommit,
  buildDeadLetter,
  buildStream,
  packed,
} from '../../contract/checkpoint-store/builders.ts'

const [path = '', zones = '0', count = 'Infinity'] = process.argv.slice(2)
const streams = zones.split(',').map((zone) => buildStream({ zone: Number(zone) }))
const store = await openSqliteStore({ path, clock: systemClock, deadLetterMaxBytes: 1e9 })
const holder = { id: randomUUID(), schedule: true }
const taken = await Promise.all(streams.map((stream) => store.ledger.take(stream, holder)))
let number = taken[0]!.checkpoint?.commit ?? 0
const last = number + Number(count)
while (number < last) {
  const from = number * 100
  const commits = streams.map((stream, index) =>
    buildCommit(stream, taken[index]!.fence, number, {
      seen: new Map([
        [number % 5, packed(from, 60)],
        [5 + (number % 300), packed(from + 60, 40)],
      ]),
      deadLetters: [buildDeadLetter({ zone: stream.zone, id: `e${number}` })],
    }),
  )
  const answers = await Promise.all(commits.map((commit) => store.ledger.commit(commit)))
  if (answers.includes('refused')) break
  number++
  process.stdout.write(`${number} ${from}\n`)
}
await store.close()
