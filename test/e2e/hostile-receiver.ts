import type { IncomingMessage, ServerResponse } from 'node:http'
import { bodyOf, serveHttp } from '../setup/http-server.ts'
import { own } from '../setup/leftovers.ts'
import { createHonesty, keyOfLine, type Honesty } from './receiver.ts'

/** How the destination treats a request. */
export const moods = [
  'well',
  // The connection ends before, within and after the body.
  'gone',
  'halfway',
  'forgetful',
  // Never answers: without and with the body read.
  'deaf',
  'silent',
  // Takes everything and answers when the client has long given up.
  'late',
  'busy',
  'throttling',
  'narrow',
  'broken',
  // Answers and closes a connection that was to be kept.
  'curt',
  'refusing',
  'babbling',
] as const
export type Mood = (typeof moods)[number]

export interface HostileReceiver {
  readonly url: string
  mood: Mood
  /** How many bodies came whole, whatever was answered. */
  asked(): number
  /** Of all of them. */
  honesty(): Honesty
  /** How often each event was taken, by `zone/day/id`. */
  readonly taken: ReadonlyMap<string, number>
}

/** Longer than the client waits. */
const lateMs = 1_500
const mostLines = 3

/** A destination that changes its mood, and refuses events that are poison in any. Closed after the test. */
export async function hostileReceiver(isPoison: (key: string) => boolean): Promise<HostileReceiver> {
  const honesty = createHonesty()
  const taken = new Map<string, number>()
  let asked = 0
  const late = new Set<NodeJS.Timeout>()

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { mood } = self
    if (mood === 'gone') return request.socket.destroy()
    if (mood === 'deaf') return undefined
    if (mood === 'halfway') return request.once('data', () => request.socket.resetAndDestroy())
    const text = await bodyOf(request)
    const one = { headers: request.headers, text, lines: text.split('\n').filter((line) => line !== '') }
    honesty.note(one)
    asked++
    if (mood === 'silent') return undefined
    if (mood === 'busy') return response.writeHead(503).end('<html>busy')
    if (mood === 'throttling') return response.writeHead(429, { 'retry-after': '2' }).end()
    if (mood === 'broken') return response.writeHead(500, { 'content-length': '100' }).end('cut')
    if (mood === 'refusing') return response.writeHead(401).end('who are you')
    if (mood === 'narrow' && one.lines.length > mostLines) return response.writeHead(413).end()
    const keys = one.lines.map(keyOfLine)
    if (keys.some(isPoison)) return response.writeHead(400).end('poison')
    for (const key of keys) taken.set(key, (taken.get(key) ?? 0) + 1)
    if (mood === 'forgetful') return request.socket.destroy()
    if (mood === 'late') return void late.add(setTimeout(() => response.end(), lateMs))
    if (mood === 'curt') return response.end(() => request.socket.destroy())
    return response.end(mood === 'babbling' ? '{"errors":true,"items":[{}]}'.repeat(10_000) : '')
  }

  const { url } = await serveHttp(serve)
  const remove = async () => late.forEach(clearTimeout)
  own({ what: 'late answers', isLeft: () => late.size > 0, remove, isFault: false })
  const self: HostileReceiver = {
    url: `${url}/in`,
    mood: 'well',
    asked: () => asked,
    honesty: honesty.found,
    taken,
  }
  return self
}
