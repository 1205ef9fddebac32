import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { Secret } from '../../src/domain/text/secret.ts'
import type { Server } from '../../src/server/server.ts'
import { findOnPath } from '../setup/available.ts'
import { serve } from '../server/client.ts'
import { fillHistory } from './story.ts'
import { viewsOf, type World } from './world.ts'

interface ServeOptions {
  readonly token?: Secret
  readonly port?: number
}

/** One browser for a suite. After each test its pages and servers are closed, and no page may have had a fault. */
export function usePages() {
  let browser: Browser
  const servers: Server[] = []
  const pages: Page[] = []
  /** Errors of scripts and of the policy, and requests to other hosts. */
  const faults: string[] = []

  beforeAll(async () => {
    // Chromium refuses to run as root with its sandbox; the page under test is ours.
    const executablePath = findOnPath('chromium')
    if (executablePath === undefined) throw new Error('no chromium on PATH')
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  })
  afterAll(() => browser.close())
  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.context().close()))
    await Promise.all(servers.splice(0).map((server) => server.stop()))
    expect(faults.splice(0)).toEqual([])
  })

  /** Serves the page of a world with the real server. */
  async function serveWorld(world: World, options: ServeOptions = {}) {
    const { views, history } = viewsOf(world)
    fillHistory(history, world)
    const { server, address } = await serve({ ...options, views: () => views })
    servers.push(server)
    return { url: address, server }
  }

  /** A page whose timers only the test moves. */
  async function openFile(url: string, context: BrowserContextOptions = {}) {
    const opened = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context })
    const page = await opened.newPage()
    pages.push(page)
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
    if (context.javaScriptEnabled !== false) await page.clock.install()
    await page.goto(url)
    /** Lets the page ask the server again. */
    return { page, again: () => page.clock.runFor(5_000) }
  }

  async function open(world: World, serve: ServeOptions, query = '', context: BrowserContextOptions = {}) {
    const served = await serveWorld(world, serve)
    return { ...served, ...(await openFile(`${served.url}/${query}`, context)) }
  }

  return {
    serveWorld,
    open,
    openFile,
    /** Opens the page of a world, and waits until it has figures. */
    async show(world: World) {
      const shown = await open(world, {})
      await shown.page.locator('#headline').waitFor()
      return shown
    },
    /** The same with a day that is open. */
    async showDay(world: World, { zone, sink, day: date }: Shown, context?: BrowserContextOptions) {
      const shown = await open(world, {}, `?zone=${zone}&to=${sink}&day=${date}`, context)
      const day = shown.page.locator('#day')
      await day.getByText('Evidence').waitFor()
      return { ...shown, day }
    },
  }
}

interface Shown {
  readonly zone: number
  readonly sink: string
  readonly day: string
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

export function cell(page: Page, { zone, sink, day }: Shown): Locator {
  return page.locator(`[id="${zone}/${sink}/${day}"]`)
}
