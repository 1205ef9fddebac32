import type { Sink } from '../ports/delivery.ts'
import type { AzureBlobSinkConfig } from './azure-blob/config.ts'
import { azureBlob } from './azure-blob/store.ts'
import type { SinkDeps } from './deps.ts'
import { createObjectSink } from './objects/sink.ts'
import type { ObjectStore, Service, StoreDeps } from './objects/store.ts'
import { tryStore } from './objects/trial.ts'
import type { S3SinkConfig } from './s3/config.ts'
import { s3 } from './s3/store.ts'

/** Of every sink that writes objects. */
export type StoreConfig = S3SinkConfig | AzureBlobSinkConfig

/** By the `type` of their sinks. */
const services: { readonly [Type in StoreConfig['type']]: Service<Extract<StoreConfig, { type: Type }>> } = {
  s3,
  'azure-blob': azureBlob,
}

// The settings are those of this very service.
const serviceOf = ({ type }: StoreConfig) => services[type] as Service<StoreConfig>

export function writesObjects<Sink extends { readonly type: string }>(
  sink: Sink,
): sink is Extract<Sink, StoreConfig> {
  return Object.hasOwn(services, sink.type)
}

/** Of the place of its objects, for people. */
export function addressOf(sink: StoreConfig): string {
  return serviceOf(sink).addressOf(sink)
}

export function openStore(sink: StoreConfig, deps: StoreDeps): ObjectStore {
  return serviceOf(sink).open(sink, deps)
}

/** A sink of objects, by its `type`. */
export const objectSinks = Object.fromEntries(
  Object.keys(services).map((type) => [type, openObjectSink]),
) as Record<StoreConfig['type'], typeof openObjectSink>

/** A sink that tries its store by `check`, and before the first object of a process. */
export function openObjectSink(settings: StoreConfig, deps: SinkDeps): Sink {
  const store = openStore(settings, deps)
  const otherwise = serviceOf(settings).otherwise(settings)
  const lake = { settings, store, format: deps.format, telemetry: deps.telemetry }
  return createObjectSink(lake, (signal) => tryStore(store, settings, otherwise, signal))
}
