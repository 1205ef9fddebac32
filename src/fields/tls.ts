import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import * as z from 'zod'
import { messageOf } from '../domain/failure.ts'
import type { Tls } from '../domain/tls.ts'
import { addIssue, optionalPath } from './fields.ts'
import { systemErrorText } from '../domain/text/system-error.ts'

const TlsFiles = z.strictObject({
  caFile: optionalPath('CA certificates to trust instead of the built-in ones (PEM)'),
  certFile: optionalPath('Client certificate (PEM)'),
  keyFile: optionalPath('Private key of the client certificate, without passphrase (PEM)'),
})

/** Names of PEM files in the file; their contents after parsing. */
export const TlsConfig = TlsFiles.transform(readTls)

function readTls(files: z.output<typeof TlsFiles>, context: z.RefinementCtx): Tls {
  const report = (path: (keyof typeof files)[], problem: string, remedy: string) =>
    addIssue(context, { problem, remedy }, path)
  const read = (at: keyof typeof files): string | undefined => {
    if (files[at] === null) return undefined
    try {
      const text = readFileSync(files[at], 'utf8')
      if (text.includes('-----BEGIN')) return text
      report([at], 'is not a PEM file', 'use a file that begins with -----BEGIN')
    } catch (error) {
      report([at], `cannot be read: ${systemErrorText(error)}`, 'use a PEM file that this user can read')
    }
    return undefined
  }
  const [ca, cert, key] = [read('caFile'), read('certFile'), read('keyFile')]
  if (files.certFile !== null && files.keyFile === null)
    report(['keyFile'], 'is missing, although certFile is set', 'set it to the file of the private key')
  if (files.certFile === null && files.keyFile !== null)
    report(['certFile'], 'is missing, although keyFile is set', 'set it to the file of the certificate')
  // Validates the certificates now, and only where there are some: a context without would parse those of Node.
  if ((ca ?? cert) !== undefined && (cert === undefined) === (key === undefined))
    try {
      createSecureContext({ ca, cert, key })
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
      const remedy = 'check that the files are complete and that the key belongs to the certificate'
      report([], `cannot be used: ${reason}`, remedy)
    }
  return Object.defineProperty<Tls>({ ca, cert }, 'key', { value: key })
}
