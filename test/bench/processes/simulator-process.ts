import { once } from 'node:events'
import { startSimulator, type SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { createShiftedClock } from '../../entry/shifted-clock.ts'
import { answer, taskOf } from './child.ts'

export interface SimulatorTask extends Omit<SimulatorOptions, 'clock'> {
  /** How far its clock is ahead of that of this host. */
  readonly offsetMs?: number | undefined
}

/** The simulator in a process of its own, until its parent lets go of it. */
const { offsetMs = 0, ...options } = taskOf() as SimulatorTask
const simulator = await startSimulator({ ...options, clock: createShiftedClock({ offsetMs }) })
await answer({ url: simulator.url })
await once(process, 'disconnect')
await simulator.close()
