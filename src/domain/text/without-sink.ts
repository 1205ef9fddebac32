/**
 * A message for a place that names the sink already: `sink siem (https://siem.example) answered 503` becomes
 * `https://siem.example answered 503`.
 */
export function withoutSink(message: string, sink: string): string {
  const named = `sink ${sink}`
  if (message.startsWith(`${named}: `)) return message.slice(named.length + 2)
  const end = message.startsWith(`${named} (`) ? message.indexOf(')') : -1
  return end === -1 ? message : message.slice(named.length + 2, end) + message.slice(end + 1)
}
