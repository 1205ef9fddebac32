import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { UsageError } from '../command.ts'

const before = '<!-- shieldlog signature, Ed25519 of all lines above: '
const after = ' -->\n'

/** Reads an Ed25519 key from a PEM file. Throws UsageError that names the file and what to do. */
export function readKey(path: string, kind: 'private' | 'public'): KeyObject {
  const refuse = (why: string, remedy: string) => new UsageError(`${printable(path)} ${why}; ${remedy}`)
  const make =
    kind === 'private'
      ? 'make one with: openssl genpkey -algorithm ed25519 -out audit-key.pem'
      : 'name the public key of the signer, made with: openssl pkey -in audit-key.pem -pubout'
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw refuse(`cannot be read: ${systemErrorText(error)}`, 'name the PEM file of the key')
  }
  let key: KeyObject
  try {
    // The public key can be had of a private one.
    key = kind === 'private' ? createPrivateKey(text) : createPublicKey(text)
  } catch {
    throw refuse(`holds no ${kind} key without a passphrase`, make)
  }
  if (key.asymmetricKeyType === 'ed25519') return key
  throw refuse(`holds a key of type ${key.asymmetricKeyType}, and only Ed25519 is used`, make)
}

/** The report with a last line that holds its signature, which no browser shows. */
export function signed(report: string, key: KeyObject): string {
  return `${report}${before}${sign(null, Buffer.from(report), key).toString('base64')}${after}`
}

/** Why a report is not one that this key has signed; undefined where it is. */
export function signatureProblem(report: Buffer, key: KeyObject): string | undefined {
  const at = report.lastIndexOf(before)
  // Of the line that is not signed nothing may differ: a browser would show what follows a comment.
  const [, signature] = /^([a-z\d+/]{86}==) -->\n$/i.exec(report.toString('latin1', at + before.length)) ?? []
  if (at < 0 || signature === undefined) return 'it has no signature as its last line'
  return verify(null, report.subarray(0, at), key, Buffer.from(signature, 'base64'))
    ? undefined
    : 'it was changed after it was signed, or signed with another key'
}
