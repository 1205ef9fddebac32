// Commits to each stream of a comma list of zones, side by side, until it is killed, and prints every answer that it got
// for all of them: "<commit> <first fingerprint>".
//   node test/state/commit-loop.ts PATH-OR-SETTINGS-OF-REDIS ZONES [COUNT]
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../src/clock.ts'
import type { RedisServers } from '../../src/domain/redis-servers.ts'
import { buildCommit, buildDeadLetter, buildStream, packed } from '../contract/checkpoint-store/builders.ts'
import { openRedisStore, openSqliteStore } from '../setup/stores.ts'

const [place = '', zones = '0', count = 'Infinity'] = process.argv.slice(2)
const options = { clock: systemClock, deadLetterMaxBytes: 1e9 }
const store = place.startsWith('{')
  ? await openRedisStore({
      ...options,
      state: JSON.parse(place) as RedisServers,
      telemetry: { emit: () => {} },
    })
  : await openSqliteStore({ ...options, path: place })
const streams = zones.split(',').map((zone) => buildStream({ zone: Number(zone) }))
const holder = { id: randomUUID(), schedule: true }
const taken = await Promise.all(streams.map((stream) => store.ledger.take(stream, holder)))
let number = taken[0]!.checkpoint?.commit ?? 0
const last = number + Number(count)
while (number < last) {
  const from = number * 100
  const seen = new Map([
    [number % 5, packed(from, 60)],
    [5 + (number % 300), packed(from + 60, 40)],
  ])
  const answers = await Promise.all(
    streams.map((stream, index) => {
      const deadLetters = [buildDeadLetter({ zone: stream.zone, id: `e${number}` })]
      return store.ledger.commit(buildCommit(stream, taken[index]!.fence, number, { seen, deadLetters }))
    }),
  )
  if (answers.includes('refused')) break
  number++
  process.stdout.write(`${number} ${from}\n`)
}
await store.close()
