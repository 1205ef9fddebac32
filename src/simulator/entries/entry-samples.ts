/** Material for realistic firewall events. Every address and host is from a range reserved for examples. */

export interface RuleSample {
  readonly id: string
  readonly group: string
  readonly message: string
  readonly operator: string
  readonly path: string
  readonly match: string
  readonly method?: string
  readonly body?: string
}

export const ruleSamples: readonly RuleSample[] = [
  {
    id: '930130',
    group: 'LFI',
    message: 'Restricted File Access Attempt',
    operator: 'PMF',
    path: '/.env',
    match: '.env',
  },
  {
    id: '930120',
    group: 'LFI',
    message: 'OS File Access Attempt',
    operator: 'PMF',
    path: '/dl?f=../../etc/passwd',
    match: 'etc/passwd',
  },
  {
    id: '930100',
    group: 'LFI',
    message: 'Path Traversal Attack (/../)',
    operator: 'RX',
    path: '/a/..%2f..%2fb',
    match: '/../',
  },
  {
    id: '931100',
    group: 'RFI',
    message: 'Possible RFI: URL Parameter using IP',
    operator: 'RX',
    path: '/?u=http://198.51.100.7/x',
    match: 'http://198',
  },
  {
    id: '932160',
    group: 'RCE',
    message: 'Remote Command Execution: Unix Shell Code',
    operator: 'PMF',
    path: '/cgi-bin/x?c=/bin/sh',
    match: 'bin/sh',
  },
  {
    id: '933150',
    group: 'PHP',
    message: 'PHP Injection: High-Risk Function Name',
    operator: 'PMF',
    path: '/i.php?a=base64_decode',
    match: 'base64_decode',
  },
  {
    id: '934100',
    group: 'GENERIC',
    message: 'Node.js Injection Attack 1/2',
    operator: 'RX',
    path: '/api?e=process.env',
    match: 'process.env',
  },
  {
    id: '941100',
    group: 'XSS',
    message: 'XSS Attack via libinjection',
    operator: 'DETECTXSS',
    path: '/s?q=%3Cscript%3E',
    match: '<script>alert(1)</script>',
  },
  {
    id: '941160',
    group: 'XSS',
    message: 'NoScript XSS: HTML Injection',
    operator: 'RX',
    path: '/c?t=%3Cimg',
    match: "<img src=x onerror='p(1)'>",
  },
  {
    id: '942100',
    group: 'SQLI',
    message: 'SQL Injection via libinjection',
    operator: 'DETECTSQLI',
    path: "/p?id=1'%20or%201=1",
    match: 's&1c',
  },
  {
    id: '942190',
    group: 'SQLI',
    message: 'MSSQL code execution attempt',
    operator: 'RX',
    path: '/p?id=1;exec',
    match: 'exec xp_cmdshell',
  },
  {
    id: '943120',
    group: 'SESSION-FIXATION',
    message: 'SessionID Parameter, No Referer',
    operator: 'RX',
    path: '/login?PHPSESSID=1',
    match: 'phpsessid',
  },
  {
    id: '944100',
    group: 'JAVA',
    message: 'Suspicious Java class detected',
    operator: 'RX',
    path: '/x?n=java.lang.Runtime',
    match: 'java.lang.Runtime',
  },
  {
    id: '913100',
    group: 'SCANNER-DETECTION',
    message: 'Security scanner User-Agent',
    operator: 'PMF',
    path: '/',
    match: 'nuclei',
  },
  {
    id: '920440',
    group: 'PROTOCOL-ENFORCEMENT',
    message: 'URL file extension restricted',
    operator: 'RX',
    path: '/db.sql',
    match: '.sql',
  },
  {
    id: '921110',
    group: 'PROTOCOL-ATTACK',
    message: 'HTTP Request Smuggling Attack',
    operator: 'RX',
    path: '/',
    match: 'GET / HTTP/1.1',
  },
  {
    id: '942380',
    group: 'SQLI',
    message: 'SQL Injection Attack',
    operator: 'RX',
    path: '/account/login',
    match: 'union all select',
    method: 'POST',
    body: 'user=admin%27+union+all+select&password=hunter2',
  },
  {
    id: 'rate-limit_7',
    group: '',
    message: 'Rate limit: login',
    operator: 'GE',
    path: '/login',
    match: '61',
    method: 'POST',
  },
]

export const hosts = ['shop.example.com', 'www.example.org', 'api.example.net', 'cdn.example.com'] as const

/** Attack tools first: they are the most frequent clients in firewall events, and short. */
export const userAgents = [
  'curl/8.5.0',
  'Go-http-client/2.0',
  'python-requests/2.31.0',
  'Mozilla/5.0 zgrab/0.x',
  'sqlmap/1.8#stable (https://sqlmap.org)',
  'Mozilla/5.0 (compatible; Nuclei - Open-source project)',
  'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
] as const

export const networks = [
  ['48090', 'BG'],
  ['14061', 'US'],
  ['16509', 'IE'],
  ['24940', 'DE'],
  ['4134', 'CN'],
  ['9009', 'RO'],
  ['45102', 'SG'],
  ['12389', 'RU'],
] as const

export const pops = ['SG', 'DE', 'NY', 'LA', 'UK', 'JP', 'SYD', 'BR'] as const

/** `Blocked` is the vendor's usual value; the others are rarer. */
export const actions = ['Blocked', 'Blocked', 'Blocked', 'Blocked', 'Logged', 'Challenged', '403'] as const

/** The vendor's own sample has an empty severity. */
export const severities = ['', '', 'WARNING', 'CRITICAL', 'NOTICE'] as const

export const extraHeaders = [
  ['Cookie', 'session=8f14e45fceea167a; cart=42'],
  ['Authorization', 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'],
  ['Host', 'shop.example.com'],
  ['Range', 'bytes=0-1023'],
  ['X-Forwarded-Proto', 'https'],
  ['CDN-ProxyVer', '1.04'],
  ['Accept', '*/*'],
] as const
