import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { createShiftedClock } from '../../entry/shifted-clock.ts'
import { startFakeBucket } from '../../setup/fake-bucket.ts'
import { answer, taskOf } from './child.ts'

/** A simulator; a destination that takes everything; or the bucket `waf`, of the key that the tests use. */
export type ServerTask = 'http' | 's3' | SimulatorTask

export interface SimulatorTask extends Omit<SimulatorOptions, 'clock'> {
  /** How far its clock is ahead of that of this host. */
  readonly offsetMs?: number | undefined
}

/** A server in a process of its own, until its parent lets go of it. */
const task = taskOf() as ServerTask
await answer({ url: await started(task) })
await once(process, 'disconnect')
process.exit()

async function started(task: ServerTask): Promise<string> {
  if (task === 's3') return (await startFakeBucket()).url
  if (task !== 'http') {
    const { offsetMs = 0, ...options } = task
    return (await startSimulator({ ...options, clock: createShiftedClock({ offsetMs }) })).url
  }
  const server = createServer((request, response) => request.resume().once('end', () => response.end('{}')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
