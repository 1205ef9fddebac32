import { commandsReference } from './commands.ts'
import { configMarkdown } from './config.ts'
import { figureBlocks } from './figures.ts'
import { formatTables } from './formats.ts'
import {
  alertsTable,
  answersTable,
  costBlocks,
  eventsTable,
  exitCodesTable,
  metricsTable,
  presetsTable,
} from './tables.ts'

/** Markdown that the code itself gives, by the name of its block in a page. */
export async function generatedBlocks(): Promise<Readonly<Record<string, string>>> {
  return {
    alerts: alertsTable(),
    answers: answersTable(),
    commands: await commandsReference(),
    config: configMarkdown(),
    events: eventsTable(),
    'exit-codes': exitCodesTable(),
    presets: presetsTable(),
    ...costBlocks(),
    ...figureBlocks(),
    ...formatTables(),
    metrics: metricsTable(),
  }
}

const block = /(<!-- BEGIN ([a-z-]+)[^>]*-->\n)([\s\S]*?)(<!-- END \2 -->)/g

/** The text with each block that is known filled anew; others, such as figures that were measured, stay. */
export function fillBlocks(text: string, blocks: Readonly<Record<string, string>>): string {
  return text.replaceAll(block, (whole: string, begin: string, name: string, _body: string, end: string) =>
    Object.hasOwn(blocks, name) ? `${begin}${blocks[name]}\n${end}` : whole,
  )
}

/** Names of all blocks of a text. */
export function blockNames(text: string): string[] {
  return [...text.matchAll(block)].map(([, , name = '']) => name)
}
