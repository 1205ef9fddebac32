/** Metadata of an object, by name without `x-amz-meta-`, lower case; values are plain ASCII. */
export type Metadata = Readonly<Record<string, string>>

/**
 * A bucket that never changes an object: it is only written to where no object has the key. Every method throws Failure,
 * with the error of the sink (`stop`) or one that passes (`retry`, `wait`).
 */
export interface Bucket {
  /** The bucket and prefix, for people. */
  readonly address: string
  /**
   * `created` on 200 (or 201). `not-created` on 412, 409, a reset, and no answer: the caller looks whose object is there.
   */
  create(
    key: string,
    body: Buffer,
    about: { readonly contentType: string; readonly metadata: Metadata },
    signal: AbortSignal,
  ): Promise<'created' | 'not-created'>
  /** Undefined where no object has the key; 0 bytes where the service does not say how many. */
  head(
    key: string,
    signal: AbortSignal,
  ): Promise<{ readonly metadata: Metadata; readonly bytes: number } | undefined>
  get(key: string, signal: AbortSignal): Promise<Buffer | undefined>
  /** In order of the keys. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<{ readonly key: string; readonly bytes: number }>
  close(): Promise<void>
}
