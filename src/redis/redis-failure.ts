import { Failure, messageOf, type FailureKind } from '../domain/failure.ts'

interface Answer {
  readonly kind: Extract<FailureKind, 'retry' | 'stop'>
  readonly remedy: string
  /** In place of words of the client. */
  readonly text?: string
}

const stop = (remedy: string): Answer => ({ kind: 'stop', remedy })
const retry = (remedy: string, text?: string): Answer => ({
  kind: 'retry',
  remedy,
  ...(text !== undefined && { text }),
})

const credentials = 'set the right user name and password under state'
const lacksRights = stop('allow its user the commands and keys that docs/scaling-redis.md lists')
const cluster = 'list its nodes under state.redis.cluster'
const certificate =
  'check state.redis.tls.caFile, and that the certificate is issued for the name of the server'
const place = 'check host and port, and that both sides use TLS (rediss://), or neither does'

/** What to do about an error with this text. */
const answers: readonly (readonly [RegExp, Answer])[] = [
  [/^OOM /, stop('raise its maxmemory; it refuses writes until then')],
  [/^MISCONF /, stop('see its log: it cannot save to disk, and refuses writes until it can')],
  [/^(NOAUTH|WRONGPASS)\b|invalid password|without any password|auth.* failed/i, stop(credentials)],
  [/^NOPERM |ACL failure|no permissions|user executing the script/i, lacksRights],
  [
    /^DENIED /,
    stop('it takes connections of its own host only: set a password there (requirepass) and under state'),
  ],
  [/^WRONGTYPE /, stop('set another keyPrefix; another program uses these keys')],
  [/^(MOVED|CROSSSLOT) |SELECT is not allowed in cluster mode/i, stop(cluster)],
  [
    /cluster support disabled/i,
    stop('it is not a cluster; set state.redis.url instead of state.redis.cluster'),
  ],
  [/unknown (redis )?command/i, stop('use Redis 6.2 or later, with none of its commands renamed')],
  [/DB index is out of range|invalid DB index/i, stop('set state to a database number that it has')],
  [/^READONLY /, retry('it is a replica; set state to the primary, unless a failover is in progress')],
  [/^NOREPLICAS /, retry('start its replicas again, or lower min-replicas-to-write')],
  [/^LOADING /, retry('it is still loading its data from disk')],
  [/^BUSY /, retry('it is busy with a script')],
  [/^(MASTERDOWN|CLUSTERDOWN|TRYAGAIN) /, retry('some of its servers are down, or it is moving its slots')],
  [/^UNBLOCKED /, retry('it became a replica; a failover is in progress')],
  [/max number of clients/i, retry('raise its maxclients')],
  [/^Unknown RESP type/, retry(place, 'the answer is not one of Redis')],
  [/^Stream isn't writeable/, retry(place, 'there is no connection yet')],
  [/ECONNRESET|EPIPE/, retry(`shieldlog tries again; if that lasts, ${place}`)],
]

/** Codes of Node and OpenSSL for certificates that are not trusted or do not fit. */
const certificateCode = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_OSSL/

/** Texts and codes of Node, the client and servers for a connection or a server that is missing. */
const absence = new RegExp(
  [
    '^(?:connect |read |write |getaddrinfo )?(?:ECONN|E(?:HOST|NET)UNREACH|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)',
    '^(?:READONLY|LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN) ',
    "^(?:Command timed out|Command aborted|Socket timeout|Connection is closed|Stream isn't writeable)",
    '^(?:Reached the max retries|All sentinels are unreachable|Failed to refresh slots cache)',
    "^(?:Cluster isn't ready|Cluster is disconnect|Too many Cluster redirections|None of startup nodes)",
    '^(?:Node is disconnected|No master node)',
  ].join('|'),
)

/** Converts what a call to the client threw to a Failure. Any other value is a Failure already, or a bug. */
export function redisFailure(error: unknown, name: string): unknown {
  if (error instanceof Failure || !(error instanceof Error)) return error
  // An error of the Lua code itself is a bug, not an operator's error.
  if (/(?:^ERR |: )user_script:\d+:/.test(error.message)) return error
  const { kind, remedy, text = textOf(error) } = answerTo(error) ?? retry('shieldlog tries again')
  const code = kind === 'stop' ? 'store_refuses' : 'store_unavailable'
  // No cause: the client attaches the command and its arguments, credentials included, to its errors.
  return new Failure(kind, code, `the state (${name}) failed: ${text}; ${remedy}`)
}

/** The same for errors of any origin: returns an error unchanged if Redis did not cause it. */
export function redisFailureIn(error: unknown, name: string): unknown {
  const isKnown = isAbsence(error) || (error instanceof Error && answerTo(error) !== undefined)
  return isKnown ? redisFailure(error, name) : error
}

function answerTo(error: Error): Answer | undefined {
  // Redis before 7 puts the words of an error inside a script behind "ERR Error running script".
  const text = /@user_script:\s?\d+: -?([A-Z]+ .*)/s.exec(error.message)?.[1] ?? error.message
  const found = answers.find(([pattern]) => pattern.test(text))?.[1]
  if (found !== undefined) return found
  if (certificateCode.test(codeOf(error))) return stop(certificate)
  return 'lastNodeError' in error && error.lastNodeError instanceof Error
    ? answerTo(error.lastNodeError)
    : undefined
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

function textOf(error: Error): string {
  if ('lastNodeError' in error && error.lastNodeError instanceof Error) return textOf(error.lastNodeError)
  // Where a name has several addresses, Node's error for all of them has no message of its own.
  if (error instanceof AggregateError) return [...new Set(error.errors.map(messageOf))].join(', ')
  // A server that does not know a command repeats its arguments, which may include a password.
  return error.message.replace(/, with args beginning with:.*/s, '')
}

/** True when the connection or its server went away: the answer is unknown, and a retry may succeed. */
export function isAbsence(error: unknown): boolean {
  return error instanceof Error && [codeOf(error), error.message].some((text) => absence.test(text))
}

/** True where the user of the connection may not send the command. */
export function isUnpermitted(error: unknown): boolean {
  return error instanceof Error && answerTo(error) === lacksRights
}

/** True where a retry, even on a new connection, would get the same refusal. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && answerTo(error)?.kind === 'stop'
}
