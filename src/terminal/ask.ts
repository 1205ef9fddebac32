import { Writable } from 'node:stream'
import { UsageError, type Io } from './io.ts'

/**
 * Asks on stderr, since stdout is for results. Of a secret nothing is shown while it is typed, nor how long it is. A signal
 * or the end of the input counts as an empty answer.
 */
export async function ask(question: string, signal: AbortSignal, isSecret = false): Promise<string> {
  // Loaded only here, since hardly any command asks.
  const { createInterface } = await import('node:readline/promises')
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const output = isSecret ? nowhere : process.stderr
  const lines = createInterface({
    input: process.stdin,
    output,
    ...(isSecret && { terminal: true, historySize: 0 }),
  })
  // Only now: what is typed before the interface is there would be shown.
  if (isSecret) process.stderr.write(question)
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    const answer = await Promise.race([lines.question(question, { signal }).catch(() => ''), closed])
    if (isSecret) process.stderr.write(answer === '' ? '\n' : '********\n')
    return answer
  } finally {
    lines.close()
  }
}

/**
 * Calls back once `q` is pressed, which the terminal does not show. Ctrl-C stays a signal. Returns a function that ends
 * this. Only where stdin is a terminal.
 */
export function onQuitKey(callback: () => void): () => void {
  const { stdin } = process
  const read = (keys: Buffer) => {
    if (keys.includes('\u0003')) process.kill(process.pid, 'SIGINT')
    if (keys.includes('q')) callback()
  }
  stdin.setRawMode(true).on('data', read)
  return () => {
    stdin.off('data', read).setRawMode(false).pause()
  }
}

/** Asks before something that cannot be taken back, unless --yes was given. Throws UsageError without a terminal. */
export async function isConfirmed(
  { would, question }: { readonly would: string; readonly question: string },
  { yes = false }: { readonly yes?: boolean | undefined },
  io: Pick<Io, 'ask'>,
): Promise<boolean> {
  if (yes) return true
  if (io.ask === undefined)
    throw new UsageError(`this would ${would}; without a terminal to ask on, confirm with --yes`)
  return /^y(?:es)?$/i.test((await io.ask(`${question} [y/N] `)).trim())
}
