export interface Text {
  readonly text: string
  /** Size of `text` in UTF-8 bytes. */
  readonly bytes: number
}

export interface Framing {
  readonly before: string
  readonly between: string
  readonly after: string
}

/**
 * Joins texts as bytes, each written straight into the buffer: joining strings first would build a string of the whole
 * body and take half as long again.
 */
export function joinTexts(texts: readonly Text[], { before, between, after }: Framing): Buffer {
  let bytes = Buffer.byteLength(before) + Buffer.byteLength(after)
  bytes += Buffer.byteLength(between) * Math.max(0, texts.length - 1)
  for (const text of texts) bytes += text.bytes
  const joined = Buffer.allocUnsafe(bytes)
  let at = joined.write(before)
  for (const [index, { text, bytes }] of texts.entries()) {
    if (index > 0) at += joined.write(between, at)
    // As many bytes as characters means pure ASCII; latin1 writes that faster.
    at += joined.write(text, at, bytes === text.length ? 'latin1' : 'utf8')
  }
  at += joined.write(after, at)
  if (at !== bytes) throw new Error('a text is not as long as it says')
  return joined
}
