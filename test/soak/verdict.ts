import { compareFiles, keysOf } from '../e2e/shipped.ts'
import { readableDays } from '../e2e/workplace.ts'
import { isPoison, zones, type World } from './world.ts'

/** Everything that was shipped against everything that the API has. To be asked when nothing runs any more. */
export async function judge({ place, receiver }: World) {
  const days = readableDays()
  const all = keysOf(place.simulator, zones, days)
  const file = compareFiles(place.events, place.simulator, zones, days)
  const listed = await place.ended(['dead-letters', 'list', '--json'])
  if (listed.code !== 0) throw new Error(`dead-letters list ended with ${listed.code}: ${listed.stderr}`)
  const letters = JSON.parse(listed.stdout) as { deadLetters: { zone: number; day: string; id: string }[] }
  const deadLetters = new Set(letters.deadLetters.map(({ zone, day, id }) => `${zone}/${day}/${id}`))
  const missing = all.filter((key) => !isPoison(key) && !receiver.taken.has(key))
  // Allowed: at least once.
  const repeated = [...receiver.taken.values()].filter((times) => times > 1).length
  // Poison that is no dead letter, and dead letters that are no poison.
  const wrong = [...new Set(all.filter(isPoison)).symmetricDifference(deadLetters)]
  const honesty = receiver.honesty()
  const faults: string[] = []
  if (file.missing + file.repeated + file.strange > 0) faults.push(`files: ${file.examples.join(', ')}`)
  if (missing.length > 0) faults.push(`HTTP: ${missing.length} events never came, ${missing[0]}`)
  for (const [what, count] of Object.entries(honesty)) if (count > 0) faults.push(`HTTP: ${count} ${what}`)
  if (wrong.length > 0) faults.push(`dead letters: ${wrong.slice(0, 3).join(', ')}`)
  for (const day of days) {
    const audit = await place.ended(['audit', '--zone', zones.join(','), '--day', day])
    if (audit.code !== 0) faults.push(`audit of ${day}: exit ${audit.code} ${audit.stdout.slice(-500)}`)
  }
  const lines = [
    `events            ${all.length.toLocaleString('en')}`,
    `files             ${file.missing} lost, ${file.repeated} twice, ${file.strange} strange`,
    `HTTP              ${missing.length} lost, ${repeated} more than once, ${honesty.changedEvents} changed`,
    `idempotency keys  ${honesty.keysWithTwoBodies} that named two bodies`,
    `dead letters      ${deadLetters.size}, ${wrong.length} of them wrong`,
    ...faults.map((fault) => `FAULT ${fault}`),
    faults.length === 0 ? 'passed' : 'failed',
  ]
  return { faults, text: `${lines.join('\n')}\n` }
}
