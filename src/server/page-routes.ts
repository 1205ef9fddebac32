import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { messageOf } from '../domain/failure.ts'
import { statusPage, tokenPage, troublePage, type Shown } from '../page/status-page.ts'
import { readChoice, QueryError } from './queries.ts'
import type { Access, PageViews, Reply, Route } from './route.ts'

/** Files and data come only from this server; nothing inline, nothing from another host, no frame around it. */
const policy = [
  "default-src 'none'",
  ...['script', 'style', 'img', 'connect'].map((kind) => `${kind}-src 'self'`),
  ...['base-uri', 'form-action', 'frame-ancestors'].map((what) => `${what} 'none'`),
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const folder = new URL('../page/', import.meta.url)

/** The files of the status page by path, `/page/…`. Each is read once, at its first request. */
export function pageFiles(): ReadonlyMap<string, Route> {
  const files = new Map<string, Route>()
  for (const name of readdirSync(folder)) {
    const type = types[extname(name)]
    if (type === undefined) continue
    let reply: Reply | undefined
    const answer = () =>
      (reply ??= { status: 200, type, body: readFileSync(new URL(name, folder), 'utf8'), headers })
    files.set(`/page/${name}`, { open: true, answer })
  }
  return files
}

export const hostNameText =
  'answers only when the URL has the IP address of this host or localhost; set server.tokenFile to use a host name'

/**
 * The page itself. Who may see no data gets it without. `soon` bounds how long the views may take.
 */
export function pageRoute(
  viewsNow: () => PageViews | undefined,
  soon: (views: Promise<Shown>) => Promise<Shown>,
): Route {
  const page = (status: number, body: string): Reply => {
    return { status, type: 'text/html; charset=utf-8', body, headers }
  }
  async function answer(parameters: URLSearchParams, access: Access): Promise<Reply> {
    if (access === 'no token') return page(200, tokenPage())
    if (access === 'host name')
      return page(200, troublePage(`without server.token, this page ${hostNameText}`))
    const views = viewsNow()
    if (views === undefined) return page(200, troublePage('the process is starting'))
    try {
      return page(200, statusPage(await soon(readShown(views, parameters, access === 'token'))))
    } catch (error) {
      return page(error instanceof QueryError ? 400 : 503, troublePage(messageOf(error)))
    }
  }
  return { open: true, answer }
}

async function readShown(views: PageViews, parameters: URLSearchParams, isByToken: boolean): Promise<Shown> {
  const choice = readChoice(parameters)
  const [map, day] = await Promise.all([views.map(choice), choice.day && views.day(choice.day)])
  return { choice, map, day, isByToken }
}
