import { Redis } from 'ioredis'
import { messageOf } from '../domain/failure.ts'

/*
 * The client prints lines of its own on the console, beside a log in JSON, where the answers to its first commands have
 * certain words, and takes some of them for others. What its connections to sentinels and to nodes of a cluster, and
 * those of BullMQ, have in common is only the prototype.
 */

/** Some of it is private. */
interface Client extends Pick<Redis, 'stream'> {
  flushQueue(error: Error): void
}
type Command = (this: Client, ...args: unknown[]) => Promise<unknown>
type Callback = (error: unknown, answer?: unknown) => void

const commands = Redis.prototype as unknown as Record<'hello' | 'auth' | 'info', Command>
const { hello, auth, info } = commands

/** The first command of a connection. */
commands.hello = function (...args) {
  // A server that refuses a connection says why, unasked, and closes it: a second write would fail before that is read.
  const { stream } = this
  stream.cork()
  process.nextTick(() => stream.uncork())
  return hello.apply(this, args).catch((error: unknown) => {
    if (!(error instanceof Error)) throw error
    // That of protected mode goes on about a password that is not set, and at length.
    error.message = error.message.replace(/^(DENIED .*?) because .*/s, '$1')
    // The client would wait for the answers to the other commands, which never come, and forget this one.
    if (refusesAll.test(error.message)) this.flushQueue(error)
    return unlessNeedless(error)
  })
}

commands.auth = function (...args) {
  return auth.apply(this, args).catch(unlessNeedless)
}

/** With a callback only the client itself calls it, to see whether the server has loaded its data. */
commands.info = function (...args) {
  const [tell] = args
  if (typeof tell !== 'function') return info.apply(this, args)
  const answer = info.call(this).catch((error: unknown) => {
    if (!messageOf(error).startsWith('NOPERM ')) throw error
    return ''
  })
  answer.then((text) => (tell as Callback)(null, text), tell as Callback)
  return answer
}

const refusesAll = /^DENIED |max number of clients/

/** A server without a password takes a connection that has one. */
function unlessNeedless(error: unknown): string {
  if (!/no password is set|without any password configured/.test(messageOf(error))) throw error
  return 'OK'
}
