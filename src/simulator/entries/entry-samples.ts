/** Material for realistic firewall events. Every address and host is from a range reserved for examples. */

type RuleSample = readonly [
  id: string,
  group: string,
  message: string,
  operator: string,
  path: string,
  match: string,
  method?: string,
  body?: string,
]

export const ruleSamples: readonly RuleSample[] = [
  ['930130', 'LFI', 'Restricted File Access Attempt', 'PMF', '/.env', '.env'],
  ['930120', 'LFI', 'OS File Access Attempt', 'PMF', '/dl?f=../../etc/passwd', 'etc/passwd'],
  ['930100', 'LFI', 'Path Traversal Attack (/../)', 'RX', '/a/..%2f..%2fb', '/../'],
  ['931100', 'RFI', 'Possible RFI: URL Parameter using IP', 'RX', '/?u=http://198.51.100.7/x', 'http://198'],
  ['932160', 'RCE', 'Remote Command Execution: Unix Shell Code', 'PMF', '/cgi-bin/x?c=/bin/sh', 'bin/sh'],
  [
    '933150',
    'PHP',
    'PHP Injection: High-Risk Function Name',
    'PMF',
    '/i.php?a=base64_decode',
    'base64_decode',
  ],
  ['934100', 'GENERIC', 'Node.js Injection Attack 1/2', 'RX', '/api?e=process.env', 'process.env'],
  [
    '941100',
    'XSS',
    'XSS Attack via libinjection',
    'DETECTXSS',
    '/s?q=%3Cscript%3E',
    '<script>alert(1)</script>',
  ],
  ['941160', 'XSS', 'NoScript XSS: HTML Injection', 'RX', '/c?t=%3Cimg', "<img src=x onerror='p(1)'>"],
  ['942100', 'SQLI', 'SQL Injection via libinjection', 'DETECTSQLI', "/p?id=1'%20or%201=1", 's&1c'],
  ['942190', 'SQLI', 'MSSQL code execution attempt', 'RX', '/p?id=1;exec', 'exec xp_cmdshell'],
  ['943120', 'SESSION-FIXATION', 'SessionID Parameter, No Referer', 'RX', '/login?PHPSESSID=1', 'phpsessid'],
  ['944100', 'JAVA', 'Suspicious Java class detected', 'RX', '/x?n=java.lang.Runtime', 'java.lang.Runtime'],
  ['913100', 'SCANNER-DETECTION', 'Security scanner User-Agent', 'PMF', '/', 'nuclei'],
  ['920440', 'PROTOCOL-ENFORCEMENT', 'URL file extension restricted', 'RX', '/db.sql', '.sql'],
  ['921110', 'PROTOCOL-ATTACK', 'HTTP Request Smuggling Attack', 'RX', '/', 'GET / HTTP/1.1'],
  [
    '942380',
    'SQLI',
    'SQL Injection Attack',
    'RX',
    '/account/login',
    'union all select',
    'POST',
    'user=admin%27+union+all+select&password=hunter2',
  ],
  ['rate-limit_7', '', 'Rate limit: login', 'GE', '/login', '61', 'POST'],
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
