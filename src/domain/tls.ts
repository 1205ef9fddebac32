/** PEM texts. `ca` replaces the default root certificates, as in curl and most shippers. */
export interface Pem {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** Certificates of a connection. Those of files change while the process runs. */
export interface Tls extends Pem {
  /** Of files: reads those again that have changed, and returns the same object while none has. Never throws. */
  readonly latest?: () => Pem
  /** Of files: who is told, once, that what they hold now cannot be used. */
  tell?: (problem: string) => void
}

/** What a new connection uses. */
export function latestOf(tls: Tls): Pem {
  return tls.latest?.() ?? tls
}

/** All certificates in settings. */
export function tlsIn(value: unknown): Tls[] {
  if (typeof value !== 'object' || value === null) return []
  return 'latest' in value && typeof value.latest === 'function'
    ? [value as Tls]
    : Object.values(value).flatMap(tlsIn)
}

/** For clients that copy their options at each connection: what is there then. */
export function pemAtConnect(tls: Tls): Pem {
  let pem = latestOf(tls)
  return {
    get ca() {
      pem = latestOf(tls)
      return pem.ca
    },
    // Of the same moment.
    get cert() {
      return pem.cert
    },
    get key() {
      return pem.key
    },
  }
}
