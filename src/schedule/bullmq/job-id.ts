import type { Stream } from '../../domain/stream.ts'

/**
 * Names the job of a stream: it keeps the stream from being in a queue twice, and tells account and sink of a job that
 * waits without the job being read.
 */
export function jobIdOf(account: string, { zone, day, sink }: Stream): string {
  return [account, String(zone), day, sink].map(encodeURIComponent).join('/')
}
