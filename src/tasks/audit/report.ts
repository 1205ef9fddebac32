import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto'
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Failure } from '../../domain/failure.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'
import { printable } from '../../domain/text/terminal-text.ts'
import { UsageError } from '../../terminal/io.ts'

/**
 * Makes the file before anything is read, since an audit may take long; readable by its owner only. Throws UsageError.
 * Returns what fills it, and throws Failure; without a report it removes it.
 */
export function openReport(path: string): (html: string | undefined) => void {
  const name = printable(path)
  if (path === '-') throw new UsageError('--report -: name a file; standard output has the result')
  try {
    writeFileSync(path, '', { flag: 'wx', mode: 0o600 })
    // Whatever the umask: it is written again at the end.
    chmodSync(path, 0o600)
  } catch (error) {
    const why = systemErrorText(error)
    throw new UsageError(`--report ${name}: ${why}; name a new file in a folder that you can write to`)
  }
  return (html) => {
    if (html === undefined) return rmSync(path)
    try {
      writeFileSync(path, html)
    } catch (cause) {
      const why = `the report cannot be written to ${name}: ${systemErrorText(cause)}. Audit again with another --report.`
      throw new Failure('stop', 'unwritable', why, { cause })
    }
  }
}

/** Throws UsageError for a file that cannot be read. */
export function readNamed(path: string, remedy: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new UsageError(`${printable(path)} cannot be read: ${systemErrorText(error)}; ${remedy}`)
  }
}

const before = '<!-- shieldlog signature, Ed25519 of all lines above: '
const after = ' -->\n'

/** Reads an Ed25519 key from a PEM file. Throws UsageError that names the file and what to do. */
export function readKey(path: string, kind: 'private' | 'public'): KeyObject {
  const isPrivate = kind === 'private'
  const make = isPrivate
    ? 'make one with: openssl genpkey -algorithm ed25519 -out audit-key.pem'
    : 'name the public key of the signer, made with: openssl pkey -in audit-key.pem -pubout'
  const pem = readNamed(path, 'name the PEM file of the key')
  let why = `holds no ${kind} key without a passphrase`
  try {
    // The public key can be had of a private one.
    const key = isPrivate ? createPrivateKey(pem) : createPublicKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
    why = `holds a key of type ${key.asymmetricKeyType}, and only Ed25519 is used`
  } catch {
    // It is no key.
  }
  throw new UsageError(`${printable(path)} ${why}; ${make}`)
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
