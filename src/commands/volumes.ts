import { InvalidArgumentError, type Command } from 'commander'
import { openWork } from '../assemble/work.ts'
import { printable } from '../domain/text/terminal-text.ts'
import {
  listVolumes,
  stateOf,
  type VolumeInstance,
  type Volumes,
  type VolumeTemplate,
} from '../shield/figures.ts'
import { exitCodes, type Registration } from './command.ts'
import { chooseAccount } from './options.ts'
import { example } from './program-name.ts'
import { barColumns, table } from './terminal/table.ts'
import { counted } from '../domain/text/counts.ts'
import { jsonResult, paintFor, type Paint } from './terminal/text.ts'

interface VolumeOptions {
  readonly app: string
  readonly account?: string
  readonly json?: boolean
}

export function register({ command, io, exit, load }: Registration): void {
  command
    .requiredOption('--app <id>', 'id of the application', appId)
    .option('--json', 'as JSON')
    .option('--account <name>', 'account that owns it, where there are several')
    .addHelpText('after', example('volumes --app shop'))
    .action(async ({ app, account, json = false }: VolumeOptions, command: Command) => {
      const { config } = load(command, 'key')
      const { name } = chooseAccount(config, account)
      await using work = await openWork(config, {}, io.signal)
      const volumes = await listVolumes(work.reading.clientOf(name), app, io.signal)
      const { items, summary, isWhole } = volumes
      if (json) io.stdout.write(jsonResult(volumes))
      else if (items.length > 0) io.stdout.write(`${volumeLines(items, paintFor(io.stdout)).join('\n')}\n`)
      io.stderr.write(
        `${[`${printable(app, 100)}: ${counted(items.length, 'volume')}`, ...sums(summary)].join(', ')}.\n`,
      )
      if (isWhole) return
      io.stderr.write('The API repeated a part of the list instead of its end: there may be more volumes.\n')
      exit(exitCodes.failed)
    })
}

function appId(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('it takes the id of an application.')
}

/** What the API counts of the whole application, of which the table has no line. */
function sums(summary: Volumes['summary']): string[] {
  const { totalPods, totalContainers, totalStorage } = summary ?? {}
  return [
    ...(typeof totalPods === 'number' ? [counted(totalPods, 'pod')] : []),
    ...(typeof totalContainers === 'number' ? [counted(totalContainers, 'container')] : []),
    ...(typeof totalStorage === 'number' ? [`${totalStorage} GB in all`] : []),
  ]
}

const barWidth = 8

type Size = number | null | undefined

interface Row {
  readonly name: string
  readonly region: string
  readonly used: Size
  readonly size: Size
  readonly attachment: string
}

/** A line a volume, and one for each of its instances below it. */
export function volumeLines(templates: readonly VolumeTemplate[], paint: Paint): string[] {
  const rows = templates.flatMap((template) => [
    rowOfTemplate(template),
    ...(template.volumeInstances ?? []).map(rowOfInstance),
  ])
  const shares = rows.map(({ used, size }) =>
    typeof used === 'number' && typeof size === 'number' && size > 0 ? Math.max(0, used / size) : undefined,
  )
  const sizeText = (size: Size) => (typeof size === 'number' ? String(Number(size.toFixed(2))) : '-')
  const percent = (share: number | undefined) => (share === undefined ? '-' : `${Math.round(share * 100)} %`)
  return table(
    [
      { title: 'volume', cells: rows.map(({ name }) => name), most: 36, least: 20 },
      { title: 'region', cells: rows.map(({ region }) => region), most: 10 },
      {
        title: 'used of size',
        cells: rows.map(({ used, size }) => `${sizeText(used)} of ${sizeText(size)} GB`),
        align: 'right',
      },
      { title: 'full', cells: shares.map(percent), align: 'right' },
      ...barColumns(shares, barWidth, paint),
      { title: 'attached to', cells: rows.map(({ attachment }) => attachment), least: 8 },
    ],
    paint,
  )
}

function rowOfTemplate(template: VolumeTemplate): Row {
  const { name, id, totalUsage, size, totalInstancesCount, attachedInstancesCount } = template
  const instances = template.volumeInstances ?? []
  const sizes = instances.flatMap((instance) => instance.size ?? [])
  const isWhole = sizes.length > 0 && sizes.length === instances.length
  const containers = template.containersCount ?? 0
  const attached = `${attachedInstancesCount ?? '-'} of ${totalInstancesCount ?? instances.length}`
  return {
    name: textOf(name, id),
    region: '',
    used: totalUsage,
    size: isWhole ? sizes.reduce((sum, each) => sum + each, 0) : size,
    attachment: containers > 0 ? `${attached}, ${counted(containers, 'container')}` : attached,
  }
}

function rowOfInstance(instance: VolumeInstance): Row {
  const { id, region, usage, size, attachedPods, attachedContainers } = instance
  const to = [attachedPods, attachedContainers].flatMap((names) => (names ?? []).join(',') || []).join('; ')
  const state = stateOf(instance)
  // Where it is attached says that it is.
  const attachment = state === 'Attached' && to !== '' ? to : [state, to].filter(Boolean).join(': ')
  return {
    name: `  ${textOf(id)}`,
    region: textOf(region),
    used: usage,
    size,
    attachment: textOf(attachment),
  }
}

/** The first text that there is. */
function textOf(...texts: readonly (string | null | undefined)[]): string {
  return printable(texts.find(Boolean) ?? '-')
}
