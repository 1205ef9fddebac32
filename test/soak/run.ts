import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeLeftovers } from '../setup/leftovers.ts'
import { messageOf } from '../../src/domain/failure.ts'
import { help, readOptions, type SoakOptions } from './options.ts'
import { sampleOf, type Sample, judge, textOf } from './verdict.ts'
import { createTroubles } from './troubles.ts'
import { createWorld, type World } from './world.ts'

const sampleMs = 5_000
const drainTries = 5

const tell = (line: string) =>
  void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)

/** Faults for the chosen time, then a drain, then the comparison. The first signal ends the faults early. */
async function soak(options: SoakOptions): Promise<number> {
  tell(`seed ${options.seed}, ${options.minutes} minutes; Ctrl-C ends the faults and goes on to the verdict`)
  const ended = new AbortController()
  process.once('SIGINT', () => ended.abort())
  const world = await createWorld(options)
  const beganMs = performance.now()
  const minutes = () => (performance.now() - beganMs) / 60_000
  const bytesBefore = await world.redisBytes()
  const samples: Sample[] = []
  const sampler = setInterval(() => {
    const sample = sampleOf(world.steady.pid, minutes())
    if (sample !== undefined) samples.push(sample)
  }, sampleMs)
  const over = setTimeout(() => ended.abort(), options.minutes * 60_000)
  const troubles = createTroubles(world, options.seed, (name) => tell(`${minutes().toFixed(1)} min  ${name}`))
  try {
    await troubles.bring(ended.signal)
  } finally {
    clearTimeout(over)
    clearInterval(sampler)
  }
  if (!world.steady.isRunning())
    throw new Error(`the steady process ended:\n${world.steady.stderr().slice(-3000)}`)
  await drain(world)
  const verdict = await judge(world, options, samples, (await world.redisBytes()) - bytesBefore)
  for (const [name, count] of [...troubles.counts].toSorted(([one], [other]) => one.localeCompare(other)))
    tell(`${count} × ${name}`)
  process.stdout.write(textOf(verdict))
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ ...options, ...verdict, samples }, null, 2)}\n`)
  return verdict.faults.length === 0 ? 0 : 1
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

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2))
    if (options === 'help') {
      process.stdout.write(help)
      return 0
    }
    return await soak(options)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : messageOf(error)}\n`)
    return 1
  } finally {
    await removeLeftovers(undefined)
  }
}

process.exitCode = await main()
