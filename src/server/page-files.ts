import { readdirSync, readFileSync } from 'node:fs'
import { extname, sep } from 'node:path'
import type { Reply } from './reply.ts'

const folder = new URL('./page/', import.meta.url)

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * The page may load files and data only from this server; nothing inline, nothing from another host, no frame around
 * it.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The report of an audit is drawn by this process, not by a browser. */
const notServed = 'report'

/** The static files of the status page by path: `/` and `/page/…`. Each is read once, at its first request. */
export function pageFiles(): ReadonlyMap<string, () => Reply> {
  const files = new Map<string, () => Reply>()
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const name = path.replaceAll(sep, '/')
    const type = types[extname(name)]
    if (type === undefined || name.startsWith(`${notServed}/`)) continue
    let reply: Reply | undefined
    const answer = () =>
      (reply ??= { status: 200, type, body: readFileSync(new URL(name, folder), 'utf8'), headers })
    files.set(name === 'page.html' ? '/' : `/page/${name}`, answer)
  }
  return files
}
