import { createDice, hex4, mix } from './hash.ts'

/** One entry of an event-log page on the wire. The generator writes `timestamp` in ms by default. */
export interface WireEntry {
  readonly logId: string
  readonly timestamp: number
  readonly log: string | object | null
  readonly labels: { readonly [name: string]: string }
}

/** Shape of generated entries. */
export interface EntryShape {
  readonly seed: number
  /** Approximate size of an entry's JSON: the mean over many entries. */
  readonly entryBytes: number
}

/** Identifies an entry; together with the shape it determines the entry except for its time. */
interface EntryPlace {
  readonly zone: number
  /** Days since the epoch. */
  readonly dayNumber: number
  /** Order of arrival within zone and day, from 0. */
  readonly seq: number
}

interface Template {
  readonly masked: boolean
  readonly ipv6: boolean
  /** The JSON, split where id, time, address and, where the entry has one, the request id belong. */
  readonly parts: readonly string[]
}

/** Entries are assembled as text from a pool of templates: the bench requests millions of them. */
const poolSize = 256

const pools = new Map<string, readonly Template[]>()

/** One entry's JSON. The same place and shape always give the same text. */
export function entryJson(shape: EntryShape, place: EntryPlace, timestampMs: number): string {
  const [first, second, third] = wordsOf(shape, place)
  const template = poolOf(shape)[third % poolSize]!
  const [start, afterId, afterTime, afterAddress, end] = template.parts
  const head = `${start}${uuidOf(first, second, third)}${afterId}${Math.floor(timestampMs)}${afterTime}`
  const request = end === undefined ? '' : uuidOf(second, third, first).replaceAll('-', '') + end
  return `${head}${addressOf(template, first)}${afterAddress}${request}`
}

function wordsOf(shape: EntryShape, place: EntryPlace): [number, number, number] {
  const first = mix(place.seq + Math.imul(shape.seed, 0x9e3779b9))
  const second = mix(first ^ place.zone)
  return [first, second, mix(second ^ place.dayNumber)]
}

// The id keeps the whole first word, so that ids within a zone and day are unique.
function uuidOf(first: number, second: number, third: number): string {
  const last = mix(third ^ first)
  const version = hex4(0x4000 | (second & 0x0fff))
  const variant = hex4(0xa000 | ((third >>> 16) & 0x0fff))
  const end = hex4(third) + hex4(last >>> 16) + hex4(last)
  return `${hex4(first >>> 16)}${hex4(first)}-${hex4(second >>> 16)}-${version}-${variant}-${end}`
}

function addressOf(template: Template, word: number): string {
  if (template.ipv6) return `2001:db8:${hex4(word >>> 16)}:${hex4(word)}::1`
  const network = `198.${18 + ((word >>> 16) & 1)}.${(word >>> 8) & 255}`
  return template.masked ? `${network}.*` : `${network}.${word & 255}`
}

function poolOf(shape: EntryShape): readonly Template[] {
  const key = `${shape.seed}/${shape.entryBytes}`
  const pool = pools.get(key) ?? createPool(shape)
  pools.set(key, pool)
  return pool
}

// The excess of one template is taken from the next ones, so that the mean has the configured size.
function createPool(shape: EntryShape): readonly Template[] {
  let carriedBytes = 0
  return Array.from({ length: poolSize }, (_, index) => {
    const dice = createDice(shape.seed * poolSize + index)
    const targetBytes = shape.entryBytes * (0.75 + dice.upTo(6) / 10)
    const template = createTemplate(dice, targetBytes + carriedBytes)
    carriedBytes += shape.entryBytes - sizeOf(template.parts)
    return template
  })
}

type Dice = ReturnType<typeof createDice>

function createTemplate(dice: Dice, targetBytes: number): Template {
  const sample = dice.oneOf(ruleSamples).split('|')
  const [ruleId = '', group = '', message, operator, path, match = '', method = 'GET', body = null] = sample
  const [asn, country] = dice.oneOf(networks).split(' ')
  const severity = dice.oneOf(severities)
  const labels = {
    asn,
    country,
    ruleId,
    severity,
    method,
    ruleGroup: severity === '' || group === '' ? '' : `REQUEST-${ruleId.slice(0, 3)}-${group}`,
    status: dice.oneOf(actions),
    serverZone: dice.oneOf(pops),
  }
  const headers: { Name: string; Value: string }[] = []
  const log = {
    ServerZoneId: 1000 + dice.upTo(9000),
    Message: message,
    Url: `https://${dice.oneOf(hosts)}${path}`,
    RemoteIp: '@ADDRESS@',
    UrlEncodedBody: body,
    Headers: headers,
    TriggerMatch: { Key: operator, Value: match },
  }
  const split = () =>
    JSON.stringify({ logId: '@ID@', timestamp: '@TIME@', log: encodeLog(log), labels }).split(
      /"@TIME@"|@[A-Z]+@/,
    )
  const offered = [
    ['CDN-RequestId', '@REQUEST@'],
    ['User-Agent', dice.oneOf(userAgents)],
    dice.oneOf(extraHeaders),
    ...extraHeaders,
  ] as const
  for (const [Name, Value] of offered) {
    if (headers.some((header) => header.Name === Name)) continue
    headers.push({ Name, Value })
    if (sizeOf(split()) > targetBytes) headers.pop()
  }
  const missing = Math.floor(targetBytes) - sizeOf(split())
  if (missing > 0) log.TriggerMatch.Value += filler(missing)
  return { masked: dice.upTo(3) === 0, ipv6: dice.upTo(12) === 0, parts: split() }
}

// A UUID, a time in ms, an address of 13 on average, and a request id.
function sizeOf(parts: readonly string[]): number {
  return parts.join('').length + 36 + 13 + 13 + (parts.length > 4 ? 32 : 0)
}

function filler(length: number): string {
  return ' the quick request jumps over the lazy firewall and'.repeat(Math.ceil(length / 51)).slice(0, length)
}

// Like the service, this escapes HTML characters inside the JSON; a reader must decode twice.
function encodeLog(log: object): string {
  const hexOf = (sign: string) => sign.charCodeAt(0).toString(16).toUpperCase()
  return JSON.stringify(log).replaceAll(/[<>&']/g, (sign) => `\\u00${hexOf(sign)}`)
}

// Material for realistic firewall events. Every address and host is from a range reserved for examples.

/** Id, group, message, operator, path, match, and where they are not usual method and body. */
const ruleSamples: readonly string[] = [
  '930130|LFI|Restricted File Access Attempt|PMF|/.env|.env',
  '930120|LFI|OS File Access Attempt|PMF|/dl?f=../../etc/passwd|etc/passwd',
  '930100|LFI|Path Traversal Attack (/../)|RX|/a/..%2f..%2fb|/../',
  '931100|RFI|Possible RFI: URL Parameter using IP|RX|/?u=http://198.51.100.7/x|http://198',
  '932160|RCE|Remote Command Execution: Unix Shell Code|PMF|/cgi-bin/x?c=/bin/sh|bin/sh',
  '933150|PHP|PHP Injection: High-Risk Function Name|PMF|/i.php?a=base64_decode|base64_decode',
  '934100|GENERIC|Node.js Injection Attack 1/2|RX|/api?e=process.env|process.env',
  '941100|XSS|XSS Attack via libinjection|DETECTXSS|/s?q=%3Cscript%3E|<script>alert(1)</script>',
  "941160|XSS|NoScript XSS: HTML Injection|RX|/c?t=%3Cimg|<img src=x onerror='p(1)'>",
  "942100|SQLI|SQL Injection via libinjection|DETECTSQLI|/p?id=1'%20or%201=1|s&1c",
  '942190|SQLI|MSSQL code execution attempt|RX|/p?id=1;exec|exec xp_cmdshell',
  '943120|SESSION-FIXATION|SessionID Parameter, No Referer|RX|/login?PHPSESSID=1|phpsessid',
  '944100|JAVA|Suspicious Java class detected|RX|/x?n=java.lang.LoggedRuntime|java.lang.LoggedRuntime',
  '913100|SCANNER-DETECTION|Security scanner User-Agent|PMF|/|nuclei',
  '920440|PROTOCOL-ENFORCEMENT|URL file extension restricted|RX|/db.sql|.sql',
  '921110|PROTOCOL-ATTACK|HTTP Request Smuggling Attack|RX|/|GET / HTTP/1.1',
  '942380|SQLI|SQL Injection Attack|RX|/account/login|union all select|POST|user=admin%27+union+all+select&password=hunter2',
  'rate-limit_7||Rate limit: login|GE|/login|61|POST',
]

const hosts = ['shop.example.com', 'www.example.org', 'api.example.net', 'cdn.example.com'] as const

/** Attack tools first: they are the most frequent clients in firewall events, and short. */
const userAgents = [
  'curl/8.5.0',
  'Go-http-client/2.0',
  'python-requests/2.31.0',
  'Mozilla/5.0 zgrab/0.x',
  'sqlmap/1.8#stable (https://sqlmap.org)',
  'Mozilla/5.0 (compatible; Nuclei - Open-source project)',
  'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
] as const

const networks = '48090 BG,14061 US,16509 IE,24940 DE,4134 CN,9009 RO,45102 SG,12389 RU'.split(',')

const pops = ['SG', 'DE', 'NY', 'LA', 'UK', 'JP', 'SYD', 'BR'] as const

/** `Blocked` is the vendor's usual value; the others are rarer. */
const actions = ['Blocked', 'Blocked', 'Blocked', 'Blocked', 'Logged', 'Challenged', '403'] as const

/** The vendor's own sample has an empty severity. */
const severities = ['', '', 'WARNING', 'CRITICAL', 'NOTICE'] as const

const extraHeaders = [
  ['Cookie', 'session=8f14e45fceea167a; cart=42'],
  ['Authorization', 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'],
  ['Host', 'shop.example.com'],
  ['Range', 'bytes=0-1023'],
  ['X-Forwarded-Proto', 'https'],
  ['CDN-ProxyVer', '1.04'],
  ['Accept', '*/*'],
] as const
