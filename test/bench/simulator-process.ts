import { once } from 'node:events'
import { startSimulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { answer, taskOf } from './child.ts'

/** The simulator in a process of its own, until its parent lets go of it. */
const simulator = await startSimulator(taskOf() as SimulatorOptions)
await answer({ url: simulator.url })
await once(process, 'disconnect')
await simulator.close()
