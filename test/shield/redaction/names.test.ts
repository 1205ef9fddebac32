import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { headerRule, hiddenHeaders, hiddenParameters } from '../../../src/shield/redaction/names.ts'

const nothing = { listed: [], kept: [] }
const isHiddenHeader = hiddenHeaders(nothing)
const isHiddenParameter = hiddenParameters(nothing)
const names = (text: string) => text.trim().split(/\s+/)

const secret = names(`
  Cookie set-cookie COOKIE Cookie2 HTTP_COOKIE
  Authorization proxy-authorization X-Forwarded-Authorization HTTP_AUTHORIZATION Authentication X-Auth X-Auth-Token
  X-Forwarded-Auth X-Basic-Auth OAuth oauth_token oauth2-access-token X-Amzn-Oidc-Accesstoken
  Signature X-Amz-Signature X-Hub-Signature-256 x-sig sig Signature-Input
  Credential credentials X-Amz-Credential
  AccessKey access-key X-Access-Key-Id AWSAccessKeyId accesskeyid X-Api-Key api-key x-goog-api-key X_API_KEY
  HTTP_X_API_KEY apiKey APIKey apikey api_keys DD-API-KEY X-RapidAPI-Key X-MBX-APIKEY privateKey Private-Key
  Ocp-Apim-Subscription-Key x-functions-key X-Parse-Master-Key consumer_key
  x-amz-server-side-encryption-customer-key api--key config[api][key] api.-key-v2 access_[key]_id
  Token tokens X-Token X-API-Token X-GitHub-Token X-Shopify-Access-Token X-CSRF-Token X-XSRF-TOKEN X-CSRFToken
  X-Vault-Token Private-Token X-Session-Token X-Amz-Security-Token accesstoken accessToken refresh_token id_token
  csrfmiddlewaretoken authenticity_token __RequestVerificationToken _csrf xsrf tokenId
  Cf-Access-Jwt-Assertion jwt X-Jwt-Payload
  password passwd passw pass pwd pw userPassword new_password password1 password_confirm db.password userpwd pAsSwOrD
  user[password] passphrase passcode
  secret client_secret clientsecret X-Client-Secret topsecret
  session sid SID sessionid session_id sessionId PHPSESSID JSESSIONID ASP.NET_SessionId connect.sid
  ASPSESSIONIDQQGGGRTC X-Session-Id sessions
  otp OTP otp_code totp
`)

const open = names(`
  author authors Authority :authority authored monkey keyboard keyword keywords donkey turkey design designer signal
  signup sign assignment passage passenger compass bypass passive
  X-Request-Id CDN-RequestId Request-Id X-Correlation-Id traceparent
  Content-Type Content-Length Content-Encoding User-Agent Host Accept Accept-Language Accept-Encoding Referer Origin
  Connection Cache-Control Range If-None-Match ETag Via Forwarded X-Forwarded-For X-Forwarded-Proto X-Real-Ip
  CF-Connecting-IP Sec-Fetch-Site Sec-Fetch-Mode Sec-CH-UA Sec-WebSocket-Key Surrogate-Key Idempotency-Key Cache-Key
  WWW-Authenticate authenticated side inside reside residence ssid bssid sidebar outside
  Url Message RemoteIp ServerZoneId Headers TriggerMatch Name Value status severity ruleId ruleGroup asn country
  serverZone method timestamp logId labels constructor __proto__ toString
  q query search id page lang sort utm_source utm_medium gclid fbclid redirect next return_url state nonce
  zip_code country_code postcode promocode encode codec monkey_key keys_of decode
  possession obsession assess_id process_id to_author no_key optics option opt
`)

describe('a name says by its words whether what is below it is a secret', () => {
  it.each(secret)('%s does', (name) => {
    expect(isHiddenHeader(name)).toBe(true)
    expect(isHiddenParameter(name)).toBe(true)
    expect(isHiddenParameter(encodeURIComponent(name))).toBe(true)
  })

  it.each(open)('%s does not', (name) => {
    expect(isHiddenHeader(name)).toBe(false)
    expect(isHiddenParameter(name)).toBe(false)
  })

  it.each(['key', 'Key', 'code', 'key[]', 'code[0]', '%6Bey'])('%s does as a parameter only', (name) => {
    expect(isHiddenParameter(name)).toBe(true)
    expect(isHiddenHeader(name)).toBe(false)
  })
})

it('names that are listed are hidden besides, names that are kept stay, both with * and in any case', () => {
  const lists = { listed: ['X-Own-*', ' q ', '*-id'], kept: ['x-own-name', 'TOKEN', 'x-request-*'] }
  for (const [isHidden, hides] of [
    [hiddenHeaders(lists), ['x-own-key', 'X-OWN-', 'Q', 'cdn-id', 'Cookie', 'x-token']],
    [hiddenParameters(lists), ['X-Own-Key', 'q', 'q[]', 'q[1]', '%71', 'a-id', 'session', 'tokens']],
  ] as const) {
    for (const name of hides) expect(isHidden(name), name).toBe(true)
    for (const name of ['X-Own-Name', 'token', 'X-Request-Id', 'quality', 'x-ow'])
      expect(isHidden(name), name).toBe(false)
  }
  expect(hiddenParameters(lists)('token[]')).toBe(false)
})

it('names that attackers choose take no memory for ever, and time in proportion to their length', () => {
  for (const sign of ['[', 'a', 'A', 'aA', '-', 'token-', '%5B', '%', 'api']) {
    const name = sign.repeat(200_000)
    expect(isHiddenParameter(name)).toBe(isHiddenHeader(name))
  }
  for (let index = 0; index < 10_000; index++) isHiddenHeader(`x-${index}`)
  expect([isHiddenHeader('Cookie'), isHiddenHeader('Host')]).toEqual([true, false])
})

it('the page on configuration names every word of the rule', () => {
  const page = readFileSync('docs/configuration.md', 'utf8')
  const told = page.slice(page.indexOf('**The rule on names.**'), page.indexOf('`redact.headers` and'))
  const words = headerRule.matchAll(/\w+(?=,| in | as |$)/g)
  for (const [word] of words) expect(told).toMatch(new RegExp(`\\b${word}\\b`))
})
