/**
 * Any text as one segment of a path. Dots that stand alone are encoded too, since `.` and `..` mean something else; what
 * is no valid Unicode has no encoding and is sent as U+FFFD.
 */
export function pathSegment(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed())
  return /^\.{1,2}$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded
}
