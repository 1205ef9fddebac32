import { InvalidArgumentError, type Command } from 'commander'
import { printable } from '../domain/text/terminal-text.ts'
import { exitCodes } from './command.ts'
import type { Registration } from './command.ts'
import { example } from './program-name.ts'
import { chooseAccount } from './options.ts'
import { jsonResult, counted, paintFor } from './terminal/text.ts'
import type { Paint } from './terminal/text.ts'
import {
  type Volumes,
  listVolumes,
  stateOf,
  type VolumeInstance,
  type VolumeTemplate,
} from '../shield/figures.ts'
import { openWork } from '../assemble/work.ts'
import { barColumns, table } from './terminal/table.ts'

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
      if (json) io.stdout.write(jsonResult({ items, summary, isWhole }))
      else if (items.length > 0) io.stdout.write(`${volumeLines(items, paintFor(io.stdout)).join('\n')}\n`)
      io.stderr.write(`${summaryText(app, volumes)}\n`)
      if (isWhole) return
      io.stderr.write('The API repeated a part of the list instead of its end: there may be more volumes.\n')
      exit(exitCodes.failed)
    })
}

function appId(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('it takes the id of an application.')
}

function summaryText(app: string, { items, summary }: Volumes): string {
  const instances = items.flatMap(({ volumeInstances }) => volumeInstances ?? []).length
  const { totalPods, totalContainers, totalStorage } = summary ?? {}
  const sums = [
    ...(typeof totalPods === 'number' ? [counted(totalPods, 'pod')] : []),
    ...(typeof totalContainers === 'number' ? [counted(totalContainers, 'container')] : []),
    ...(typeof totalStorage === 'number' ? [`${totalStorage} GB in all`] : []),
  ]
  const listed = `${counted(items.length, 'volume')}, ${counted(instances, 'instance')}`
  return `${printable(app, 100)}: ${[listed, ...sums].join(', ')}.`
}

const barWidth = 8
const names = { most: 36, least: 20 }
const widestRegion = 10
const leastAttachment = 8
const nearlyFull = 0.9
const gettingFull = 0.75

interface Row {
  readonly name: string
  readonly region: string
  readonly used: number | null | undefined
  readonly size: number | null | undefined
  readonly attachment: string
}

/** A line a volume, and one for each of its instances below it. */
export function volumeLines(templates: readonly VolumeTemplate[], paint: Paint): string[] {
  const rows = templates.flatMap((template) => [
    rowOfTemplate(template),
    ...(template.volumeInstances ?? []).map(rowOfInstance),
  ])
  const shares = rows.map(shareOf)
  const column = (title: string, textOf: (row: Row) => string) => ({ title, cells: rows.map(textOf) })
  return table(
    [
      { ...column('volume', ({ name }) => name), ...names },
      { ...column('region', ({ region }) => region), most: widestRegion },
      {
        ...column('used of size', ({ used, size }) => `${gigabytes(used)} of ${gigabytes(size)} GB`),
        align: 'right',
      },
      {
        title: 'full',
        cells: shares.map((share) => (share === undefined ? '-' : `${Math.round(share * 100)} %`)),
        align: 'right',
        paint: (cell, row) => paintShare(shares[row], cell, paint),
      },
      ...barColumns(
        shares.map((share = 0) => Math.min(1, share)),
        barWidth,
        paint,
      ),
      { ...column('attached to', ({ attachment }) => attachment), least: leastAttachment },
    ],
    paint,
  )
}

function rowOfTemplate(template: VolumeTemplate): Row {
  const { name, id, volumeInstances, totalUsage, size, totalInstancesCount, attachedInstancesCount } =
    template
  const instances = volumeInstances ?? []
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
  return {
    name: `  ${textOf(id)}`,
    region: textOf(region),
    used: usage,
    size,
    // Where it is attached says that it is.
    attachment: printable(
      (state === 'Attached' && to !== '' ? [to] : [state, to].filter(Boolean)).join(': ') || '-',
    ),
  }
}

/** The first text that there is. */
function textOf(...texts: readonly (string | null | undefined)[]): string {
  return printable(texts.find((text) => text !== null && text !== undefined && text !== '') ?? '-')
}

function shareOf({ used, size }: Row): number | undefined {
  return typeof used === 'number' && typeof size === 'number' && size > 0
    ? Math.max(0, used / size)
    : undefined
}

function paintShare(share: number | undefined, cell: string, paint: Paint): string {
  if (share === undefined || share < gettingFull) return cell
  return share < nearlyFull ? paint.warn(cell) : paint.bad(cell)
}

/** Two digits after the point for small values, none for large ones. */
function gigabytes(value: number | null | undefined): string {
  if (typeof value !== 'number') return '-'
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0
  return String(Number(value.toFixed(digits)))
}
