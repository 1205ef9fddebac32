import type { SinkDeps } from '../deps.ts'

/** Of an object, by name: lower-case letters alone, which every service takes; values are plain ASCII. */
export type Metadata = Readonly<Record<string, string>>

export interface ObjectKind {
  readonly contentType: string
  readonly metadata: Metadata
}

/**
 * What a try to create an object came to: `created`; `exists`, where another object has the key; `unknown`, where the
 * answer does not tell, or none came. The caller looks whose object is there.
 */
export type Created = 'created' | 'exists' | 'unknown'

export interface Listed {
  readonly key: string
  readonly bytes: number
}

/** What may be done with an object. */
export type Right = 'create' | 'read' | 'list' | 'remove'

/**
 * The objects of one place in a service. It never changes an object. Every method throws Failure, with the error of the
 * sink (`stop`) or one that passes (`retry`, `wait`).
 */
export interface ObjectStore {
  /** Of the place and its prefix, for people. */
  readonly address: string
  /** Creates an object only where its key is free. */
  create(key: string, body: Buffer, kind: ObjectKind, signal: AbortSignal): Promise<Created>
  /** Undefined where no object has the key; 0 bytes where the service does not say how many. */
  head(
    key: string,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: number; readonly metadata: Metadata } | undefined>
  get(key: string, signal: AbortSignal): Promise<Buffer | undefined>
  /** In order of the keys. */
  list(prefix: string, signal: AbortSignal): AsyncGenerator<Listed>
  /** Of what a trial has written. */
  remove(key: string, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export type StoreDeps = Pick<SinkDeps, 'clock' | 'telemetry' | 'version' | 'random'>

/** A service of object storage, with the settings of its sinks. */
export interface Service<Settings> {
  /** Of the place of the objects, for people: no two sinks have the same. */
  addressOf(settings: Settings): string
  open(settings: Settings, deps: StoreDeps): ObjectStore
  /** The remedy where it does not create objects only where their key is free. */
  otherwise(settings: Settings): string
}
