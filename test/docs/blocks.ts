import { exitCodes } from '../../src/commands/command.ts'
import { alertsReference } from './alerts.ts'
import { answersReference } from './answers.ts'
import { commandsReference } from './commands.ts'
import { configMarkdown } from './config.ts'
import { costBlocks } from './costs.ts'
import { interfaceReference } from './interface.ts'
import { figureBlocks } from './figures.ts'
import { formatTables } from './formats.ts'
import { presetsReference } from './presets.ts'
import { eventsReference, metricsReference } from './telemetry.ts'

/** What each of them means to whoever started the command. */
const exitCodeMeanings = {
  done: 'done; also after SIGTERM or SIGINT, but not for an `audit` that was stopped: see 3',
  failed:
    'failed, or done but not whole: `run --once` left a stream unread or an event undelivered, `audit` found differences, `dead-letters replay` left some, `status` shows a route that fails or that nothing ships',
  usage: 'wrong usage: an unknown command, option or value',
  blind: '`audit` could not compare something: the API or the store did not answer, or it was stopped',
  configuration: 'the configuration has errors; all of them are named',
} as const satisfies Record<keyof typeof exitCodes, string>

/** Markdown that the code itself gives, by the name of its block in a page. */
export async function generatedBlocks(): Promise<Readonly<Record<string, string>>> {
  return {
    alerts: alertsReference(),
    answers: answersReference(),
    commands: await commandsReference(),
    config: configMarkdown(),
    events: eventsReference(),
    'exit-codes': exitCodesReference(),
    interface: interfaceReference(),
    presets: presetsReference(),
    ...costBlocks(),
    ...figureBlocks(),
    ...formatTables(),
    metrics: metricsReference(),
  }
}

function exitCodesReference(): string {
  const names = Object.keys(exitCodes) as (keyof typeof exitCodes)[]
  const rows = names.map((name) => `| ${exitCodes[name]} | ${exitCodeMeanings[name]} |`)
  const second = '| 130, 143 | a second SIGINT or SIGTERM ended the process at once |'
  return ['| Code | Means |', '| --- | --- |', ...rows, second].join('\n')
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
