/** The parts of the URL of a request, as received. */
interface RequestUrl {
  readonly scheme: string
  /** Lower case; an IPv6 address without brackets. */
  readonly host: string
  readonly port: number | undefined
  readonly path: string | undefined
  /** Without the question mark; never empty. */
  readonly query: string | undefined
}

const pattern =
  /^(https?):\/\/(?:[^/?#]*@)?(\[[\da-f:.]+\]|[^/?#:@[\]\s]+)(?::0*(\d{0,5}))?(\/[^?#]*)?(?:\?([^#]*))?(?:#.*)?$/is

/** Unchanged: a parser that normalises would remove the `/../` that a rule matched. Undefined for other text. */
export function partsOf(url: string | undefined): RequestUrl | undefined {
  const found = url === undefined ? null : pattern.exec(url)
  if (found === null) return undefined
  const [, scheme = '', host = '', port = '', path, query] = found
  if (Number(port) > 65_535) return undefined
  return {
    scheme: scheme.toLowerCase(),
    host: host.toLowerCase().replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? undefined : Number(port),
    path,
    query: query === '' ? undefined : query,
  }
}
