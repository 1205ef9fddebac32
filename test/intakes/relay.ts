import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { own } from '../setup/leftovers.ts'

export interface Relay {
  readonly url: string
  /**
   * Resolves once the server has answered the nth request from now on; the answer is never passed on. Where a protocol
   * has no answers, once the nth piece has gone on its way. Call it again for the next.
   */
  keepAnswer(nth: number): Promise<void>
}

/** Passes on what it gets, byte by byte. */
export async function relayTo(target: string): Promise<Relay> {
  const { protocol, hostname, port } = new URL(target)
  const hasAnswers = protocol === 'http:'
  const sockets = new Set<Socket>()
  let keep: { left: number; resolve(): void } | undefined
  /** True for the one to be kept. */
  const counted = () => {
    const isKept = keep !== undefined && --keep.left === 0
    if (isKept) keep!.resolve()
    return isKept
  }
  const server = createServer((incoming) => {
    sockets.add(incoming)
    const outgoing = connect(Number(port), hostname)
    incoming.pipe(outgoing)
    incoming.on('error', () => outgoing.end()).on('close', () => sockets.delete(incoming) && outgoing.end())
    outgoing.on('error', () => incoming.destroy()).on('end', () => incoming.end())
    if (!hasAnswers) incoming.on('data', counted)
    outgoing.on('data', (piece: Buffer) => {
      const begins = hasAnswers && piece.toString('latin1', 0, 5) === 'HTTP/'
      if (begins && counted()) outgoing.pause()
      else incoming.write(piece)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  own({
    what: 'relay',
    isLeft: () => true,
    remove: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
    isFault: false,
  })
  const url = `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, keepAnswer: (nth) => new Promise((resolve) => (keep = { left: nth, resolve })) }
}
