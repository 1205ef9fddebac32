/**
 * The address of an intake below a configured one: `https://es:9200/prefix` and `/_bulk` give
 * `https://es:9200/prefix/_bulk`. An address that ends with the path already, and its query, stay. Returns the text
 * unchanged if it is not a URL: the sink reports the error.
 */
export function below(url: string, path: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return url
  const base = parsed.pathname.replace(/\/+$/, '')
  parsed.pathname = base.endsWith(path) ? base : base + path
  return parsed.href
}
