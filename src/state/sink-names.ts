/** Names of sinks, each followed by a space, as stores keep them. */
export function namesIn(text: string): string[] {
  return text.split(' ').filter((name) => name !== '')
}
