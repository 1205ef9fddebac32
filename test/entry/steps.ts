/** Where the entry may end itself; in the order of one page's way, then what happens beside it. */
export const steps = [
  'fetch',
  'normalise',
  'rotation',
  'deliver',
  'write',
  'datasync',
  'post',
  'commit',
  'transaction',
  'compression',
  'replacement',
  'backfill',
] as const
export type Step = (typeof steps)[number]
/** `amid`: half of a write, a body sent and not answered, a commit sent and not answered. */
export type Side = 'before' | 'amid' | 'after'

/** `before:commit@siem:3`: at the third time that it is about to commit a stream of that sink; without one: of any. */
export interface Deadline {
  readonly side: Side
  readonly step: Step
  readonly sink: string | undefined
  readonly nth: number
}

/** Passed by at each step. The sink is told where the step belongs to one. */
export type Passing = (side: Side, step: Step, sink?: string) => void

/** Ends the process with SIGKILL at the deadline: nothing that a process does at its end is done. */
export function killAt(deadline: Deadline | undefined): Passing {
  return atDeadline(deadline, () => {
    process.kill(process.pid, 'SIGKILL')
    // The signal is on its way; nothing may run meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
}

/** Asks the process at the deadline to stop, as an operator would; it goes on until it hears of it. */
export function stopAt(deadline: Deadline | undefined): Passing {
  return atDeadline(deadline, () => process.kill(process.pid, 'SIGTERM'))
}

/** At the deadline and each so many times after it, what is about to be done fails with this code of the system. */
export function failAt(deadline: Deadline | undefined, code: string): Passing {
  let met = 0
  return (side, step) => {
    if (deadline === undefined || side !== deadline.side || step !== deadline.step) return
    met++
    if (met % deadline.nth !== 0) return
    throw Object.assign(new Error(`${code}: made to fail ${side} ${step}`), {
      code,
      errno: -1,
      syscall: step,
    })
  }
}

/** Holds the whole process still at the deadline, until `thaw` sends it SIGCONT. */
export function freezeAt(deadline: Deadline | undefined): Passing {
  return atDeadline(deadline, () => {
    process.stderr.write('frozen\n')
    process.kill(process.pid, 'SIGSTOP')
    // Threads stop a moment later than they are told; what follows the step is to come after the thaw.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    process.stderr.write('thawed\n')
  })
}

function atDeadline(deadline: Deadline | undefined, act: () => void): Passing {
  let met = 0
  return (side, step, sink) => {
    if (deadline === undefined || side !== deadline.side || step !== deadline.step) return
    if (deadline.sink !== undefined && sink !== deadline.sink) return
    met++
    if (met === deadline.nth) act()
  }
}

export function parseDeadline(text: string): Deadline {
  const [, side, name, sink, nth] = /^(before|amid|after):([a-z]+)(?:@(\w+))?:(\d+)$/.exec(text) ?? []
  const step = steps.find((each) => each === name)
  if ((side !== 'before' && side !== 'amid' && side !== 'after') || step === undefined)
    throw new Error(`no deadline: ${text}`)
  return { side, step, sink, nth: Number(nth) }
}
