/** Headers under which clients usually send keys, tokens and passwords, in any case. */
export const redactedHeaders = (
  'cookie set-cookie authorization proxy-authorization x-forwarded-authorization signature credential accesskey ' +
  'x-api-key api-key x-goog-api-key x-auth-token x-access-token x-csrf-token x-vault-token private-token ' +
  'x-amz-security-token cf-access-jwt-assertion'
).split(' ')

/** Query parameters under which they do. */
export const redactedQuery = (
  'token access_token refresh_token id_token password passwd api_key apikey key secret client_secret signature sig ' +
  'session code'
).split(' ')
