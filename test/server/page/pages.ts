import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { Server } from '../../../src/server/server.ts'
import { launch, openPage, serveWorld, type Opened } from './browser.ts'
import type { World } from './world.ts'

type ServeOptions = Parameters<typeof serveWorld>[1]
type PageOptions = Parameters<typeof openPage>[2] & { readonly fragment?: string }

/** One browser for a suite. After each test its pages and servers are closed, and no page may have had a fault. */
export function usePages() {
  let browser: Browser
  const servers: Server[] = []
  const opened: Opened[] = []

  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())
  afterEach(async () => {
    const faults = opened.flatMap((each) => each.faults)
    await Promise.all(opened.splice(0).map((each) => each.close()))
    await Promise.all(servers.splice(0).map((server) => server.stop()))
    expect(faults).toEqual([])
  })

  async function open(world: World, serve: ServeOptions, { fragment = '', ...context }: PageOptions = {}) {
    const { url, server } = await serveWorld(world, serve)
    servers.push(server)
    const page = await openPage(browser, `${url}/${fragment}`, context)
    opened.push(page)
    return { ...page, url, server }
  }

  return {
    servers,
    open,
    /** Opens a file that no server serves. */
    async openFile(url: string, context: PageOptions = {}) {
      const page = await openPage(browser, url, context)
      opened.push(page)
      return page
    },
    /** Opens the page of a world, and waits until it has figures. */
    async show(world: World, options: PageOptions = {}) {
      const shown = await open(world, {}, options)
      await shown.page.locator('#headline').waitFor()
      return shown
    },
  }
}

interface Cell {
  readonly zone: number
  readonly sink: string
  readonly day: string
}

export function cell(page: Page, { zone, sink, day }: Cell): Locator {
  return page.locator(`#grid-body button[data-zone="${zone}"][data-sink="${sink}"][data-day="${day}"]`)
}

export function texts(locator: Locator): Promise<string[]> {
  return locator.allInnerTexts()
}
