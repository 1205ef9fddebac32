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
} from '../shield/volumes.ts'
import { openWork } from '../assemble/work.ts'
import { barOf, columnLines, tableLines, widthOf, type Column } from './terminal/table.ts'

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
      else if (items.length > 0) {
        const isPiped = io.stdout.isTTY !== true
        const lines = isPiped ? volumeRecords(items) : volumeLines(items, paintFor(io.stdout))
        io.stdout.write(`${lines.join('\n')}\n`)
      }
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
const widestName = 36
const narrowestName = 20
const widestRegion = 10
const nearlyFull = 0.9
const gettingFull = 0.75

interface Row {
  readonly name: string
  readonly region: string
  readonly used: number | undefined
  readonly size: number | undefined
  readonly attachment: string
}

/** For a terminal: a line a volume, and one for each of its instances below it. */
export function volumeLines(templates: readonly VolumeTemplate[], paint: Paint): string[] {
  const rows = templates.flatMap((template) => [
    rowOfTemplate(template),
    ...(template.volumeInstances ?? []).map(rowOfInstance),
  ])
  const shares = rows.map(({ used, size }) => shareOf(used, size))
  const fixed: Column[] = [
    { title: 'region', cells: rows.map(({ region }) => region), most: widestRegion },
    { title: 'used of size', cells: rows.map(({ used, size }) => ofText(used, size)), align: 'right' },
    {
      title: 'full',
      cells: shares.map(percentText),
      align: 'right',
      paint: (cell, row) => paintShare(shares[row], cell, paint),
    },
    { title: '', cells: shares.map((share) => barOf(Math.min(1, share ?? 0) * barWidth)), most: barWidth },
  ]
  const room = paint.width - 1 - widthOf(fixed) - 4
  const names = rows.map(({ name }) => name)
  const nameWidth = Math.min(widestName, Math.max(narrowestName, Math.floor(room / 2)))
  const name = { title: 'volume', cells: names, most: nameWidth }
  const attachment = rows.map((row) => row.attachment)
  const rest = Math.max(8, room - widthOf([name]))
  const columns = [name, ...fixed, { title: 'attached to', cells: attachment, most: rest }]
  const { header, rows: lines } = columnLines(columns)
  return [paint.dim(header.trimEnd()), ...lines.map((line) => line.trimEnd())]
}

/** For a pipe: a line an instance, and one for a volume without any; whole texts, plain numbers in GB. */
export function volumeRecords(templates: readonly VolumeTemplate[]): string[] {
  const records = templates.flatMap((template) => {
    const instances = template.volumeInstances ?? []
    const volume = [nameOf(template), printable(template.id ?? '') || '-']
    if (instances.length === 0)
      return [[...volume, '-', '-', '-', plain(template.totalUsage), plain(template.size), '-', '-', '-']]
    return instances.map((instance) => [...volume, ...recordOf(instance)])
  })
  const titles = 'volume id instance region state used-gb size-gb full-percent pods containers'.split(' ')
  return tableLines(titles, records)
}

function recordOf(instance: VolumeInstance): string[] {
  const { id, region, usage, size, attachedPods, attachedContainers } = instance
  const share = shareOf(usage ?? undefined, size ?? undefined)
  return [
    printable(id ?? '') || '-',
    printable(region ?? '') || '-',
    printable(stateOf(instance)) || '-',
    plain(usage),
    plain(size),
    share === undefined ? '-' : String(Math.round(share * 100)),
    listed(attachedPods) || '-',
    listed(attachedContainers) || '-',
  ]
}

function rowOfTemplate(template: VolumeTemplate): Row {
  const { volumeInstances, totalUsage, size, totalInstancesCount, attachedInstancesCount } = template
  const instances = volumeInstances ?? []
  const sizes = instances.flatMap((instance) => instance.size ?? [])
  const isWhole = sizes.length > 0 && sizes.length === instances.length
  const containers = template.containersCount ?? 0
  const attached = `${attachedInstancesCount ?? '-'} of ${totalInstancesCount ?? instances.length}`
  return {
    name: nameOf(template),
    region: '',
    used: totalUsage ?? undefined,
    size: isWhole ? sizes.reduce((sum, each) => sum + each, 0) : (size ?? undefined),
    attachment: containers > 0 ? `${attached}, ${counted(containers, 'container')}` : attached,
  }
}

function rowOfInstance(instance: VolumeInstance): Row {
  const { id, region, usage, size, attachedPods, attachedContainers } = instance
  const to = [listed(attachedPods), listed(attachedContainers)].filter((text) => text !== '').join('; ')
  const state = printable(stateOf(instance))
  return {
    name: `  ${printable(id ?? '') || '-'}`,
    region: printable(region ?? '') || '-',
    used: usage ?? undefined,
    size: size ?? undefined,
    // Where it is attached says that it is.
    attachment: (state === 'Attached' && to !== '' ? [to] : [state, to].filter(Boolean)).join(': ') || '-',
  }
}

function nameOf({ name, id }: VolumeTemplate): string {
  return printable([name, id].find((text) => text !== null && text !== undefined && text !== '') ?? '-')
}

function listed(names: readonly string[] | null | undefined): string {
  return printable((names ?? []).join(','))
}

function shareOf(used: number | undefined, size: number | undefined): number | undefined {
  return used === undefined || size === undefined || size <= 0 ? undefined : Math.max(0, used / size)
}

function percentText(share: number | undefined): string {
  return share === undefined ? '-' : `${Math.round(share * 100)} %`
}

function paintShare(share: number | undefined, cell: string, paint: Paint): string {
  if (share === undefined || share < gettingFull) return cell
  return share < nearlyFull ? paint.warn(cell) : paint.bad(cell)
}

function ofText(used: number | undefined, size: number | undefined): string {
  return `${gigabytes(used)} of ${gigabytes(size)} GB`
}

/** Two digits after the point for small values, none for large ones. */
function gigabytes(value: number | undefined): string {
  if (value === undefined) return '-'
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0
  return String(Number(value.toFixed(digits)))
}

function plain(value: number | null | undefined): string {
  return value === null || value === undefined ? '-' : String(value)
}
