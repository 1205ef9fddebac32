import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import * as z from 'zod'
import { messageOf } from '../../domain/failure.ts'
import { optionalPath } from './fields.ts'
import { systemErrorText } from '../../domain/text/system-error.ts'

/** PEM texts. The private key is hidden from printing and from spread, so copy the fields by name. */
export class Tls {
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly #key: string | undefined

  constructor(pem: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined } = {}) {
    this.ca = pem.ca
    this.cert = pem.cert
    this.#key = pem.key
  }

  get key(): string | undefined {
    return this.#key
  }
}

const TlsFiles = z.strictObject({
  caFile: optionalPath('CA certificates to trust instead of the built-in ones (PEM)'),
  certFile: optionalPath('Client certificate (PEM)'),
  keyFile: optionalPath('Private key of the client certificate, without passphrase (PEM)'),
})

/** Names of PEM files in the file; their contents after parsing. */
export const TlsConfig = TlsFiles.transform(readTls)

type FileName = keyof z.output<typeof TlsFiles>
type Report = (at: readonly FileName[], problem: string, remedy: string) => void

function readTls(files: z.output<typeof TlsFiles>, context: z.RefinementCtx): Tls {
  const report: Report = (at, message, remedy) =>
    context.addIssue({ code: 'custom', path: [...at], message, params: { remedy } })
  const ca = readPem('caFile', files, report)
  const cert = readPem('certFile', files, report)
  const key = readPem('keyFile', files, report)
  if (files.certFile !== null && files.keyFile === null)
    report(['keyFile'], 'is missing, although certFile is set', 'set it to the file of the private key')
  if (files.certFile === null && files.keyFile !== null)
    report(['certFile'], 'is missing, although keyFile is set', 'set it to the file of the certificate')
  tryOut({ ca, cert, key }, report)
  return new Tls({ ca, cert, key })
}

function readPem(at: FileName, files: z.output<typeof TlsFiles>, report: Report): string | undefined {
  const file = files[at]
  if (file === null) return undefined
  try {
    const text = readFileSync(file, 'utf8')
    if (text.includes('-----BEGIN')) return text
    report([at], 'is not a PEM file', 'use a file that begins with -----BEGIN')
  } catch (error) {
    report([at], `cannot be read: ${systemErrorText(error)}`, 'use a PEM file that this user can read')
  }
  return undefined
}

/** Validates the certificates now; otherwise an error would appear only at the first connection. */
function tryOut(
  pem: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined },
  report: Report,
) {
  if ((pem.cert === undefined) !== (pem.key === undefined)) return
  const parts = (['ca', 'cert', 'key'] as const).flatMap((part) => {
    const text = pem[part]
    return text === undefined ? [] : [[part, text] as const]
  })
  // A context without certificates of its own would only parse those of Node.
  if (parts.length === 0) return
  try {
    createSecureContext(Object.fromEntries(parts))
  } catch (error) {
    report(
      [],
      `cannot be used: ${reasonOf(error)}`,
      'check that the files are complete and that the key belongs to the certificate',
    )
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
}
