import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import type { Secret } from '../../../src/domain/text/secret.ts'
import type { Server } from '../../../src/server/server.ts'
import { browserRemedy } from '../../setup/browser-available.ts'
import { findOnPath } from '../../setup/on-path.ts'
import { build } from '../client.ts'
import { fillHistory } from './story.ts'
import { viewsOf, type World } from './world.ts'

export function launch(): Promise<Browser> {
  // Chromium refuses to run as root with its sandbox; the page under test is ours.
  const executablePath = findOnPath('chromium')
  if (executablePath === undefined) throw new Error(`no chromium on PATH: ${browserRemedy}`)
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
}

export interface Served {
  readonly url: string
  readonly server: Server
}

/** Serves the page of a world with the real server. */
export async function serveWorld(
  world: World,
  { token, port = 0 }: { readonly token?: Secret; readonly port?: number } = {},
): Promise<Served> {
  const { views, history } = viewsOf(world)
  fillHistory(history, world)
  const { server } = build({ port, ...(token !== undefined && { token }), views: () => views })
  const { address } = await server.start()
  return { url: address, server }
}

/** A page whose timers only the test moves, and what went wrong in it. */
export interface Opened {
  readonly page: Page
  /** Errors of scripts and of the policy, and requests to other hosts. */
  readonly faults: string[]
  /** Lets the page ask the server again. */
  again(): Promise<void>
  close(): Promise<void>
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    const isNetwork = /Failed to load resource/.test(message.text())
    if (message.type() === 'error' && !isNetwork) faults.push(message.text())
  })
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) faults.push(`asked ${request.url()}`)
  })
  await page.clock.install()
  await page.goto(url)
  return {
    page,
    faults,
    again: () => page.clock.runFor(5_000),
    close: () => context.close(),
  }
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string }[]
  }[]
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What an accessibility check finds, one line each; by all rules, or by those named. */
export async function accessibilityFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(axeSource)
  const options = rules === undefined ? {} : { runOnly: rules }
  const { violations } = await page.evaluate<AxeResult>(`axe.run(${JSON.stringify(options)})`)
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  )
}
