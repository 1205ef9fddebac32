// npm run soak [-- --minutes N --seed N]: faults for so many minutes (10), then the comparison. The same seed, which is
// printed, brings the same faults in the same order.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { removeLeftovers } from '../setup/leftovers.ts'
import { compareFiles, keysOf } from '../e2e/shipped.ts'
import { readableDays } from '../e2e/workplace.ts'
import { bringTroubles } from './troubles.ts'
import { createWorld, isPoison, zones, type World } from './world.ts'

const drainTries = 5

const tell = (line: string) =>
  void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)

/** Faults for the chosen time, then a drain, then the comparison. The first signal ends the faults early. */
async function soak(minutes: number, seed: number): Promise<number> {
  tell(`seed ${seed}, ${minutes} minutes; Ctrl-C ends the faults and goes on to the verdict`)
  const ended = new AbortController()
  process.once('SIGINT', () => ended.abort())
  const world = await createWorld()
  const over = setTimeout(() => ended.abort(), minutes * 60_000)
  const counts = await bringTroubles(world, seed, tell, ended.signal)
  clearTimeout(over)
  if (!world.steady.isRunning())
    throw new Error(`the steady process ended:\n${world.steady.stderr().slice(-3000)}`)
  await drain(world)
  for (const [name, count] of [...counts].toSorted(([one], [other]) => one.localeCompare(other)))
    tell(`${count} × ${name}`)
  const { text, faults } = await judge(world)
  process.stdout.write(text)
  return faults.length === 0 ? 0 : 1
}

/** No more new events; both processes stop, and one run reads every day to its end. */
async function drain({ place, steady, victim }: World): Promise<void> {
  tell('draining')
  place.simulator.calm()
  for (const child of [steady, victim()]) {
    const end = await child.kill('SIGTERM')
    if (end?.code !== 0)
      throw new Error(`a process did not stop well: ${JSON.stringify(end)}\n${child.stderr().slice(-3000)}`)
  }
  for (let tries = 1; ; tries++) {
    const { code, stderr } = await place.once()
    // New poison makes a run end with 1 as well.
    if (code === 0) return
    if (tries === drainTries) throw new Error(`run --once ended with ${code}:\n${stderr.slice(-3000)}`)
    await sleep(2_000)
  }
}

/** Everything that was shipped against everything that the API has. To be asked when nothing runs any more. */
async function judge({ place, receiver }: World) {
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

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } })
const { minutes = 10, seed = Math.floor(Math.random() * 2 ** 31) } = values
try {
  process.exitCode = await soak(Number(minutes), Number(seed))
} finally {
  await removeLeftovers(undefined)
}
