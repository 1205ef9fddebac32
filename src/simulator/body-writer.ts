/** Builds a long text as bytes: twice as fast as joining strings first, which would slow down the bench. */
export interface BodyWriter {
  write(text: string): void
  /** The bytes written. The writer must not be used afterwards. */
  end(): Buffer
}

const mostBytesPerUnit = 3

export function createBodyWriter(expectedBytes: number): BodyWriter {
  let buffer = Buffer.allocUnsafe(Math.max(1024, Math.ceil(expectedBytes)))
  let length = 0
  return {
    write: (text) => {
      const needed = length + text.length * mostBytesPerUnit
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.max(needed, 2 * buffer.length))
        buffer.copy(larger, 0, 0, length)
        buffer = larger
      }
      length += buffer.write(text, length)
    },
    end: () => buffer.subarray(0, length),
  }
}
