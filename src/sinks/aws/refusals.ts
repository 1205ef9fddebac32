const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:ExpiredToken|ExpiredTokenException|TokenRefreshRequired|InvalidToken)\b|security token .*\bexpired/i,
    'the session token has expired: renew it, or use a role or profile that renews itself',
  ],
  [
    /^(?:InvalidAccessKeyId|XAdminUserNotFound|InvalidClientTokenId|InvalidSecurity)\b|security token .*\binvalid/i,
    'the service does not know this access key: check accessKeyId, and that the address is of its service',
  ],
  [
    /^SignatureDoesNotMatch\b|signature we calculated does not match/i,
    'check secretAccessKey; it does not belong to accessKeyId',
  ],
]

/** What to do about an answer, code and message, that refuses the key of a request; undefined for any other answer. */
export function keyRemedyOf(said: string): string | undefined {
  return remedies.find(([pattern]) => pattern.test(said))?.[1]
}
