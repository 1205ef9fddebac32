/** Where the entry may end itself; in the order of one page's way, then what happens beside it. */
const steps = [
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
  'mark',
  'removal',
  'backfill',
] as const
type Step = (typeof steps)[number]
/** `amid`: half of a write, a body sent and not answered, a commit sent and not answered. */
type Side = 'before' | 'amid' | 'after'

/** `before:commit@siem:3`: at the third time that it is about to commit a stream of that sink; without one: of any. */
interface Deadline {
  readonly side: Side
  readonly step: Step
  readonly sink: string | undefined
  readonly nth: number
}

/** Passed by at each step. The sink is told where the step belongs to one. */
export type Passing = (side: Side, step: Step, sink?: string) => void

/** What happens at a deadline. */
const acts = {
  /** Nothing that a process does at its end is done. */
  kill() {
    process.kill(process.pid, 'SIGKILL')
    // The signal is on its way; nothing may run meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
  /** As an operator would ask; the process goes on until it hears of it. */
  stop: () => process.kill(process.pid, 'SIGTERM'),
  /** Holds the whole process still, until `thaw` sends it SIGCONT. */
  freeze() {
    process.stderr.write('frozen\n')
    process.kill(process.pid, 'SIGSTOP')
    // Threads stop a moment later than they are told; what follows the step is to come after the thaw.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    process.stderr.write('thawed\n')
  },
}

/** Of an entry: a deadline for each act. At that of `fail`, and each so many times after it, something fails with `code`. */
export const passOptions = {
  kill: { type: 'string' },
  stop: { type: 'string' },
  freeze: { type: 'string' },
  fail: { type: 'string' },
  code: { type: 'string', default: 'EIO' },
} as const

type Given = { readonly [Act in keyof typeof acts | 'fail']?: string | undefined } & { readonly code: string }

export function passingOf(given: Given): Passing {
  const passes = (['kill', 'stop', 'freeze', 'fail'] as const).flatMap((name) =>
    given[name] === undefined ? [] : [passAt(parseDeadline(given[name]), name, given.code)],
  )
  return (...passed) => {
    for (const each of passes) each(...passed)
  }
}

function passAt({ nth, ...at }: Deadline, name: keyof typeof acts | 'fail', code: string): Passing {
  let met = 0
  return (side, step, sink) => {
    if (side !== at.side || step !== at.step || (at.sink !== undefined && sink !== at.sink)) return
    met++
    if (name !== 'fail' && met === nth) acts[name]()
    if (name !== 'fail' || met % nth !== 0) return
    throw Object.assign(new Error(`${code}: made to fail ${side} ${step}`), {
      code,
      errno: -1,
      syscall: step,
    })
  }
}

function parseDeadline(text: string): Deadline {
  const [, side, name, sink, nth] = /^(before|amid|after):([a-z]+)(?:@(\w+))?:(\d+)$/.exec(text) ?? []
  const step = steps.find((each) => each === name)
  if ((side !== 'before' && side !== 'amid' && side !== 'after') || step === undefined)
    throw new Error(`no deadline: ${text}`)
  return { side, step, sink, nth: Number(nth) }
}
