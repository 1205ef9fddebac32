import type { UploadFigures, VolumeFigures } from '../domain/figures.ts'
import { Failure } from '../domain/failure.ts'
import { printable } from '../domain/text/terminal-text.ts'
import type { FigureSource } from '../ports/delivery.ts'
import type { ShieldClient } from './client/client.ts'
import { readUploadScanning, type UploadScanningMetrics } from './upload-scanning.ts'
import { listVolumes, type VolumeInstance, type VolumeTemplate } from './volumes.ts'

const bytesOfGigabyte = 1e9
/** Labels hold names from the wire: their length and number are bounded. */
const longestLabel = 100
const mostSeries = 500

/** `clientOf` returns the client of an account by name. */
export function createFigureSource(clientOf: (account: string) => ShieldClient): FigureSource {
  return {
    async readUploads({ id, account }, signal) {
      return uploadFigures(await readUploadScanning(clientOf(account), id, signal))
    },
    async readVolumes({ id, account }, signal) {
      const { items, isWhole } = await listVolumes(clientOf(account), id, signal)
      if (!isWhole)
        throw new Failure(
          'retry',
          'bad_body',
          `the list of volumes of application ${printable(id)} does not end: it repeats`,
        )
      return volumeFigures(items)
    },
  }
}

function uploadFigures(metrics: UploadScanningMetrics): UploadFigures {
  const { totalFilesScanned, totalLoggedRequests, totalBlockedRequests } = metrics
  return {
    ...(typeof totalFilesScanned === 'number' && { filesScanned: totalFilesScanned }),
    ...(typeof totalLoggedRequests === 'number' && { loggedRequests: totalLoggedRequests }),
    ...(typeof totalBlockedRequests === 'number' && { blockedRequests: totalBlockedRequests }),
  }
}

/** By volume and region, since a metric may not have the ids of instances as labels. */
export function volumeFigures(templates: readonly VolumeTemplate[]): VolumeFigures[] {
  const groups = new Map<string, { volume: string; region: string; instances: VolumeInstance[] }>()
  for (const { name, id, volumeInstances } of templates)
    for (const instance of volumeInstances ?? []) {
      const volume = printable(name ?? id ?? '', longestLabel)
      const region = printable(instance.region ?? '', longestLabel)
      const key = JSON.stringify([volume, region])
      const group = groups.get(key) ?? { volume, region, instances: [] }
      group.instances.push(instance)
      groups.set(key, group)
    }
  return [...groups.values()].slice(0, mostSeries).map(({ volume, region, instances }) => ({
    volume,
    region,
    ...sumOf('sizeBytes', instances, ({ size }) => size),
    ...sumOf('usageBytes', instances, ({ usage }) => usage),
    ...fullestOf(instances),
  }))
}

/** Absent where one of the instances has no value: the sum would be too small. */
function sumOf<Name extends string>(
  name: Name,
  instances: readonly VolumeInstance[],
  valueOf: (instance: VolumeInstance) => number | null | undefined,
): { readonly [Key in Name]?: number } {
  let sum = 0
  for (const instance of instances) {
    const value = valueOf(instance)
    if (typeof value !== 'number') return {}
    sum += value
  }
  return { [name]: Math.round(sum * bytesOfGigabyte) } as { readonly [Key in Name]?: number }
}

function fullestOf(instances: readonly VolumeInstance[]): Pick<VolumeFigures, 'fullestRatio'> {
  const ratios = instances.flatMap(({ size, usage }) =>
    typeof size === 'number' && size > 0 && typeof usage === 'number' ? [usage / size] : [],
  )
  return ratios.length === 0 ? {} : { fullestRatio: Math.max(...ratios) }
}
