import type { App, UploadFigures, VolumeFigures } from '../domain/figures.ts'
import type { Zone } from '../domain/stream.ts'

/** Reads figures for metrics. Both throw Failure, also for an answer that is not whole. */
export interface FigureSource {
  readUploads(zone: Zone, signal: AbortSignal): Promise<UploadFigures>
  readVolumes(app: App, signal: AbortSignal): Promise<VolumeFigures[]>
}
