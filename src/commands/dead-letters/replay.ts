import type { Command } from 'commander'
import type { SinkReplay } from '../../assemble/dead-letters.ts'
import { printable } from '../../domain/text/printable.ts'
import { systemClock } from '../../clock.ts'
import { totalOf, workOnDeadLetters, type DeadLetterChoice, type DeadLetterWork } from './choice.ts'
import { counted } from '../terminal/number.ts'
import { exitCodes } from '../io.ts'
import { jsonResult } from '../terminal/json-result.ts'
import type { Registration } from '../registration.ts'
import { programName } from '../program-name.ts'

const tellEveryMs = 5_000

export function registerReplay(parent: Command, registration: Registration): void {
  const command = parent
    .command('replay')
    .description('deliver dead letters to their sinks again, and remove those that are accepted')
    .addHelpText(
      'after',
      `
Fix the destination or the configuration first. What the sink refuses again stays, with the new
reason (exit code 1). shieldlog sends the kept event in the format that is configured now, with the
redaction of then and of now. You can stop the command and start it again at any time, also while a
run is active on the same state.

Example:
  ${programName()} dead-letters replay --sink siem
`,
    )
  workOnDeadLetters(command, registration, 'sinks', replay)
}

async function replay({
  config,
  tasks,
  chosen,
  options,
  io,
}: DeadLetterWork<DeadLetterChoice>): Promise<number> {
  const total = totalOf(chosen.flatMap(({ counts }) => counts))
  if (total > 0) io.stderr.write(`replaying ${counted(total, 'dead letter')}\n`)
  let [done, toldAtMs] = [0, systemClock.monotonic()]
  const progressed = (_sink: string, tried: number) => {
    done += tried
    if (systemClock.monotonic() - toldAtMs < tellEveryMs) return
    toldAtMs = systemClock.monotonic()
    io.stderr.write(`${done} of ${total}\n`)
  }
  const results = await tasks.replay(chosen, progressed, io.signal)
  // Keeps the report apart from events that a replay ships to stdout.
  const isToStdout = config.sinks.some(
    ({ type, name }) => type === 'stdout' && results.some(({ sink }) => sink === name),
  )
  const output = isToStdout ? io.stderr : io.stdout
  output.write(options.json === true ? replayJson(results) : replayText(results))
  if (io.signal.aborted) return exitCodes.done
  const isWhole = results.every(({ refused, left }) => refused.size === 0 && left === 0)
  return isWhole ? exitCodes.done : exitCodes.failed
}

function replayJson(results: readonly SinkReplay[]): string {
  const sinks = results.map(({ refused, ...rest }) => ({
    ...rest,
    refusedAgain: Object.fromEntries(refused),
  }))
  return jsonResult({ sinks })
}

function replayText(results: readonly SinkReplay[]): string {
  if (results.length === 0) return 'no dead letters\n'
  const lines = results.map(({ sink, delivered, refused, gone, left, error }) => {
    const reasons = [...refused].map(([reason, count]) => `${count} refused again (${reason})`)
    const parts = [
      `${delivered} delivered`,
      ...reasons,
      ...(gone > 0 ? [`${gone} already replayed or dropped`] : []),
      ...(left > 0 ? [`${left} not tried`] : []),
    ]
    return `${printable(sink)}: ${parts.join(', ')}${error === undefined ? '' : `: ${printable(error)}`}`
  })
  const isRefused = results.some(({ refused }) => refused.size > 0)
  return `${[...lines, ...(isRefused ? ['dead-letters list shows the reasons'] : [])].join('\n')}\n`
}
