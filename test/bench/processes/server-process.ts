import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import { startSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { createShiftedClock } from '../../entry/shifted-clock.ts'
import { startFakeBucket } from '../../setup/fake-bucket.ts'
import { answer, taskOf } from './child.ts'

/**
 * A simulator; the first page of one, for each zone at each request; a destination that takes everything; or the bucket
 * `waf`, of the key that the tests use.
 */
export type ServerTask = 'http' | 's3' | SimulatorTask | { readonly page: SimulatorTask }

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
    if ('page' in task) return samePage(await started(task.page), task.page)
    const { offsetMs = 0, ...options } = task
    return (await startSimulator({ ...options, clock: createShiftedClock({ offsetMs }) })).url
  }
  return listening((request, response) => request.resume().once('end', () => response.end('{}')))
}

async function listening(answering: RequestListener): Promise<string> {
  const server = createServer(answering)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Costs its host next to nothing, however many zones are read. */
async function samePage(simulator: string, { zones: [zone] = [], days }: SimulatorTask): Promise<string> {
  const [day = ''] = Object.keys(days ?? {})
  const [year, month, date] = day.split('-')
  const { headers, body } = await request(`${simulator}/shield/event-logs/${zone}/${month}-${date}-${year}`)
  const page = Buffer.from(await body.arrayBuffer())
  const kept = ['content-type', 'content-encoding'].flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return listening((_, response) => {
    response.writeHead(200, { ...Object.fromEntries(kept), 'content-length': page.length })
    response.end(page)
  })
}
