// npm run soak [-- --minutes N --seed N]: faults for so many minutes (10), then the comparison. The same seed, which is
// printed, brings the same faults in the same order.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { removeLeftovers } from '../setup/leftovers.ts'
import { createTroubles } from './troubles.ts'
import { judge } from './verdict.ts'
import { createWorld, type World } from './world.ts'

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
  const counts = await createTroubles(world, seed, tell).bring(ended.signal)
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

const { values } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } })
const { minutes = 10, seed = Math.floor(Math.random() * 2 ** 31) } = values
try {
  process.exitCode = await soak(Number(minutes), Number(seed))
} finally {
  await removeLeftovers(undefined)
}
