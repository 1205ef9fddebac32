/** PEM texts. `ca` replaces the default root certificates, as in curl and most shippers. */
export interface Tls {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  /** Hidden from printing and from spread, so copy the texts by name. */
  readonly key?: string | undefined
}
