/**
 * Encodes any text as one path segment. `.` and `..` are encoded too, since they have a meaning in paths; invalid
 * Unicode, which has no encoding, becomes U+FFFD.
 */
export function pathSegment(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed())
  return /^\.{1,2}$/.test(encoded) ? encoded.replaceAll('.', '%2E') : encoded
}
