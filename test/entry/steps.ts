/** Where the entry may end itself; in the order of one page's way. */
export const steps = [
  'fetch',
  'normalise',
  'rotation',
  'deliver',
  'datasync',
  'commit',
  'transaction',
] as const
/** Only where parts take the place of others. */
export const moving = 'move'
export type Step = (typeof steps)[number] | typeof moving
export type Side = 'before' | 'after'

/** `--kill before:commit:3`: at the third time that it is about to commit. */
export interface Deadline {
  readonly side: Side
  readonly step: Step
  readonly nth: number
}

/** Passed by at each step. */
export type Passing = (side: Side, step: Step) => void

/** Ends the process with SIGKILL at the deadline: nothing that a process does at its end is done. */
export function killAt(deadline: Deadline | undefined): Passing {
  return atDeadline(deadline, () => {
    process.kill(process.pid, 'SIGKILL')
    // The signal is on its way; nothing may run meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
}

/** Holds the whole process still at the deadline, until somebody sends it SIGCONT. */
export function freezeAt(deadline: Deadline | undefined): Passing {
  return atDeadline(deadline, () => {
    process.stderr.write('frozen\n')
    process.kill(process.pid, 'SIGSTOP')
    // Threads stop a moment later than they are told; what follows the step is to come after the thaw.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  })
}

function atDeadline(deadline: Deadline | undefined, act: () => void): Passing {
  let met = 0
  return (side, step) => {
    if (deadline === undefined || side !== deadline.side || step !== deadline.step) return
    met++
    if (met === deadline.nth) act()
  }
}

export function parseDeadline(text: string): Deadline {
  const [, side, name, nth] = /^(before|after):([a-z]+):(\d+)$/.exec(text) ?? []
  const step = [...steps, moving].find((each): each is Step => each === name)
  if ((side !== 'before' && side !== 'after') || step === undefined) throw new Error(`no deadline: ${text}`)
  return { side, step, nth: Number(nth) }
}
