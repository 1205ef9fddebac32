import { Writable } from 'node:stream'

/**
 * Asks for a secret on stderr: what is typed is not shown, nor how long it is. A signal or the end of the input counts
 * as an empty answer.
 */
export async function askHidden(question: string, signal: AbortSignal): Promise<string> {
  // Loaded only here, since hardly any command asks.
  const { createInterface } = await import('node:readline/promises')
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 })
  // Only now: what is typed before the interface is there would be shown.
  process.stderr.write(question)
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    const answer = await Promise.race([lines.question('', { signal }).catch(() => ''), closed])
    process.stderr.write(answer === '' ? '\n' : '********\n')
    return answer
  } finally {
    lines.close()
  }
}
