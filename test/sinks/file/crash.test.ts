import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { compareParts } from '../../../src/sinks/file/inventory.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { startSinkChild, type SinkChild } from './children.ts'
import { buildEvents, readCommits, StreamLedger, streamOf } from './samples.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
let children: SinkChild[]

beforeEach(async () => {
  bench = await createWorkbench()
  children = []
})
afterEach(async () => {
  for (const child of children) await child.kill('SIGKILL')
  await bench.dispose()
})

async function start(...args: Parameters<typeof startSinkChild>): Promise<SinkChild> {
  const child = await startSinkChild(...args)
  children.push(child)
  return child
}

it('has each committed event once after every kill -9', async () => {
  const log = join(bench.path, '..', 'commits')
  const kills = 16
  let leftovers = 0
  let next = start([bench.path, 'ship', log])
  for (let kill = 0; kill < kills; kill++) {
    const child = await next
    const before = readCommits(log).length
    child.process.stdin!.write('ship\n')
    // Some die while they open their streams, most while they ship.
    const isShipping = () => kill % 4 === 0 || readCommits(log).length > before
    await waitFor(isShipping, { what: 'a commit', everyMs: 5 })
    // Not a wait for something: a random instant to die at.
    await delay(Math.random() * 60)
    await child.kill('SIGKILL')
    // Starts while the files are looked at, and touches nothing before it is told to.
    if (kill + 1 < kills) next = start([bench.path, 'ship', log])

    const commits = readCommits(log)
    const sink = bench.sink()
    for (const zone of [1, 2, 3]) {
      const known = commits.filter((commit) => commit.zone === zone)
      const ledger = new StreamLedger(streamOf(sink, zone))
      ledger.commit(known.flatMap((commit) => commit.committed))
      leftovers += (await compareParts(bench.path, ledger.stream, ledger.known())).length
      await (await ledger.open(sink)).close()
      expect((await bench.ids(zone)).sort()).toEqual(known.flatMap((commit) => commit.ids).sort())
      expect(await compareParts(bench.path, ledger.stream, ledger.known())).toEqual([])
    }
    await sink.close()
  }
  const commits = readCommits(log)
  expect(commits.length).toBeGreaterThan(kills / 2)
  // Without a single uncommitted delivery on disk the kills would prove nothing.
  expect(leftovers).toBeGreaterThan(0)
  expect(bench.named('PartsOfAnotherStore')).toEqual([])
})

it('keeps committed lines when a frozen writer resumes after its stream was taken over', async () => {
  const sink = bench.sink()
  const ledger = new StreamLedger(streamOf(sink, 101))
  const frozen = await start([bench.path, 'obey'])
  ledger.commit((await frozen.ask({ open: ledger.known(), deliver: { prefix: 'a', count: 3 } })).committed!)
  await frozen.ask({ deliver: { prefix: 'b', count: 3 } })
  frozen.process.kill('SIGSTOP')

  await ledger.ship(sink, buildEvents(3, 'b'))
  expect(ledger.committed.size).toBe(2)
  // The limit that is written down: its tail stands until its lock is free.
  expect((await bench.ids()).filter((id) => id === 'b-0')).toHaveLength(2)

  frozen.process.kill('SIGCONT')
  await frozen.ask({ deliver: { prefix: 'c', count: 2 } })
  // Its commit was refused; it reads the checkpoint and opens anew, which cuts its own part and nobody else's.
  expect(await frozen.ask({ open: ledger.known() })).toEqual({ committed: [] })
  expect(await bench.ids()).toEqual(['a-0', 'a-1', 'a-2', 'b-0', 'b-1', 'b-2'])
})

it('gives live processes different identities, and a later process a free one', async () => {
  const [first, second] = [await start([bench.path, 'obey']), await start([bench.path, 'obey'])]
  const ledger = new StreamLedger(streamOf(bench.sink(), 101))
  const writers = new Set<string>()
  for (const child of [first, second]) {
    const { committed } = await child.ask({ open: ledger.known(), deliver: { prefix: 'x', count: 1 } })
    ledger.commit(committed!)
    writers.add(committed![0]!.writer)
  }
  expect(writers.size).toBe(2)
  await first.kill('SIGKILL')
  const third = await start([bench.path, 'obey'])
  const { committed } = await third.ask({ open: ledger.known(), deliver: { prefix: 'y', count: 1 } })
  expect(writers.has(committed![0]!.writer)).toBe(true)
})

it('removes a delivery that reached a size limit, and reports the remedy', async () => {
  const child = await start([bench.path, 'obey'], 64)
  const ledger = new StreamLedger(streamOf(bench.sink(), 101))
  const small = await child.ask({ open: ledger.known(), deliver: { prefix: 'fits', count: 5 } })
  ledger.commit(small.committed!)
  const refused = await child.ask({ deliver: { prefix: 'large', count: 5000 } })
  expect(refused).toMatchObject({ code: 'disk_full', message: expect.stringContaining('ulimit') })
  expect(await bench.ids()).toHaveLength(5)
  ledger.commit((await child.ask({ deliver: { prefix: 'more', count: 5 } })).committed!)
  await child.kill('SIGKILL')
  await (await ledger.open(bench.sink())).close()
  expect(await bench.ids()).toHaveLength(10)
})
