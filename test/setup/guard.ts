import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'

// A shell that outlives this process: as soon as its standard input ends, which the death of the test worker by any
// signal brings about, it kills what is still on its list. Hooks alone would leave servers behind after a kill -9.
const script = `
trap '' INT TERM HUP
live=' '
while read -r operation pid; do
  case $operation in
    add) live="$live$pid " ;;
    remove) live="\${live%% $pid *} \${live#* $pid }" ;;
  esac
done
for pid in $live; do kill -9 "$pid" 2>/dev/null; done
exit 0
`

let guard: ChildProcess | undefined

function tell(line: string): void {
  guard ??= startGuard()
  guard.stdin?.write(`${line}\n`)
}

function startGuard(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  // Neither the guard nor its pipe may keep the worker alive: the end of the worker is what the guard waits for.
  child.unref()
  const pipe = child.stdin
  if (pipe instanceof Socket) pipe.unref()
  pipe?.on('error', () => {})
  return child
}

/** Has the process killed when this test worker ends in whatever way, until it has ended by itself. */
export function guardProcess(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined) return
  tell(`add ${pid}`)
  child.once('exit', () => tell(`remove ${pid}`))
}
