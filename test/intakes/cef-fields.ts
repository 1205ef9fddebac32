/** The names and values of a line of CEF, which are still escaped. */
export function cefPartsOf(line: string) {
  const [whole, header = ''] = /^CEF:((?:(?:[^\\|]|\\.)*\|){7})/.exec(line)!
  const parts = [...header.matchAll(/((?:[^\\|]|\\.)*)\|/g)].map(([, text = '']) => text)
  const extension = line
    .slice(whole.length)
    .matchAll(/(?:^| )(\w+)=((?:[^\\=]|\\.)*?)(?= \w+=|$)/g)
    .map(([, key = '', value = '']) => [key, value] as const)
  return { header: parts, extension: [...extension] }
}

export function cefText(escaped: string): string {
  const lineBreaks: Readonly<Record<string, string>> = { n: '\n', r: '\r' }
  return escaped.replaceAll(/\\(.)/g, (_, sign: string) => lineBreaks[sign] ?? sign)
}
