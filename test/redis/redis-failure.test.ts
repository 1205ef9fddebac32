import { describe, expect, it } from 'vitest'
import { Failure } from '../../src/domain/failure.ts'
import { redisFailure, redisFailureIn } from '../../src/redis/redis-failure.ts'

const failureOf = (message: string, more: object = {}): unknown =>
  redisFailure(Object.assign(new Error(message), more), 'redis://host:6379/0')

describe('an answer of Redis', () => {
  it.each([
    ["OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:3.", /maxmemory/],
    // Before version 7.
    [
      "ERR Error running script (call to f_0123): @user_script:3: @user_script: 3: -OOM command not allowed when used memory > 'maxmemory'.",
      /raise its maxmemory/,
    ],
    ['MISCONF Redis is configured to save RDB snapshots, but it is currently not able to', /log/],
    ['NOAUTH Authentication required.', /password/],
    ['WRONGPASS invalid username-password route or user is disabled.', /password/],
    ["NOPERM this user has no permissions to run the 'get' command", /commands and keys/],
    [
      "ERR The user executing the script can't run this command or subcommand script: ab, on @user_script:1.",
      /commands/,
    ],
    ['DENIED Redis is running in protected mode', /requirepass/],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', /keyPrefix/],
    ['MOVED 1234 127.0.0.1:7001', /state\.redis\.cluster/],
    ['ERR This instance has cluster support disabled', /state\.redis\.url/],
    ["ERR unknown command 'EVALSHA', with args beginning with:", /6\.2/],
  ])('%s stops, with the remedy', (message, remedy) => {
    expect(failureOf(message)).toMatchObject({
      kind: 'stop',
      code: 'store_refuses',
      message: expect.stringMatching(remedy),
    })
  })

  it.each([
    "READONLY You can't write against a read only replica.",
    'LOADING Redis is loading the dataset in memory',
    'CLUSTERDOWN The cluster is down',
    'NOREPLICAS Not enough good replicas to write.',
    'ERR max number of clients reached',
    'Command timed out',
    'Connection is closed.',
    "Stream isn't writeable and enableOfflineQueue options is false",
    'Unknown RESP type 72 "H". Please report this.',
    'write EPIPE',
    'connect ECONNREFUSED 127.0.0.1:6379',
  ])('%s is tried again', (message) => {
    const unavailable = { kind: 'retry', code: 'store_unavailable' }
    expect(failureOf(message)).toMatchObject(unavailable)
    expect(redisFailureIn(new Error(message), 'x')).toMatchObject(unavailable)
  })

  it.each([
    'ERR user_script:12: attempt to compare nil with number script: abc, on @user_script:12.',
    'ERR Error running script (call to f_0123): @user_script:12: user_script:12: attempt to index a nil value',
  ])('%s is a bug', (message) => {
    expect(failureOf(message)).not.toBeInstanceOf(Failure)
  })

  it('includes the errors of the nodes of a cluster', () => {
    const lastNodeError = new Error('WRONGPASS invalid username-password route')
    expect(failureOf('Failed to refresh slots cache.', { lastNodeError })).toMatchObject({
      kind: 'stop',
      message: expect.stringMatching(/WRONGPASS.*password/),
    })
  })

  it('does not contain what was sent, which may be a password', () => {
    const command = { name: 'hello', args: ['AUTH', 'x', 'sesame'] }
    for (const text of ['WRONGPASS', "ERR unknown command 'HELLO', with args beginning with: 'sesame' "]) {
      const failure = failureOf(text, { command }) as Failure
      expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain('sesame')
      expect(failure.cause).toBeUndefined()
    }
  })

  it.each([
    ['Reached the max retries per request limit (which is 1).', 'store_unavailable'],
    ["NOPERM this user has no permissions to run the 'bzpopmin' command", 'store_refuses'],
  ])('is found among errors of any origin: %s', (message, code) => {
    expect(redisFailureIn(new Error(message), 'x')).toMatchObject({ code })
  })

  it.each([
    new TypeError("Cannot read properties of undefined (reading 'zone')"),
    new Error('Missing lock for job 7. moveToFinished'),
    new Error('read of a socket that nobody opened'),
    new Failure('wait', 'held', 'x'),
  ])('is not recognised in %s', (error) => {
    expect(redisFailureIn(error, 'x')).toBe(error)
  })
})
