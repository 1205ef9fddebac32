import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import * as z from 'zod'
import { messageOf } from '../domain/failure.ts'
import type { SettingError } from '../domain/text/http-rules.ts'
import type { Pem, Tls } from '../domain/tls.ts'
import { addIssue, optionalPath } from './fields.ts'
import { systemCode, systemErrorText } from '../domain/text/system-error.ts'

const TlsFiles = z.strictObject({
  caFile: optionalPath('CA certificates to trust instead of the built-in ones (PEM)'),
  certFile: optionalPath('Client certificate (PEM)'),
  keyFile: optionalPath('Private key of the client certificate, without passphrase (PEM)'),
})

/** Names of PEM files in the file; what they hold after parsing, which is read again when they change. */
export const TlsConfig = TlsFiles.transform(readTls)

type Files = z.output<typeof TlsFiles>

const names = ['caFile', 'certFile', 'keyFile'] as const

interface TlsError extends SettingError {
  readonly at?: keyof Files
}

function readTls(files: Files, context: z.RefinementCtx): Tls {
  const before = stampOf(files)
  const { pem, errors } = readPem(files)
  for (const { at, ...error } of errors) addIssue(context, error, at === undefined ? [] : [at])
  if (files.certFile !== null && files.keyFile === null)
    addIssue(context, missing('certFile', 'the private key'), ['keyFile'])
  if (files.certFile === null && files.keyFile !== null)
    addIssue(context, missing('keyFile', 'the certificate'), ['certFile'])
  return pemFiles(files, pem, before)
}

function missing(given: string, of: string): SettingError {
  return { problem: `is missing, although ${given} is set`, remedy: `set it to the file of ${of}` }
}

/** Texts are hidden from printing and from spread, so copy them by name. A comparison sees the names of the files. */
function pemFiles(files: Files, first: Pem, before: string): Tls {
  let [pem, stamp] = [first, before]
  const tls = { ...files } as Tls
  const latest = (): Pem => {
    const now = stampOf(files)
    if (now === stamp) return pem
    stamp = now
    const { pem: next, errors } = readPem(files)
    if (errors.length === 0) pem = next
    const named = ({ at, problem }: TlsError) =>
      (at === undefined ? 'the key and certificate' : `${at} ${files[at]}`) + ` ${problem}`
    if (errors.length > 0) tls.tell?.(`${errors.map(named).join(' and ')}; the ones from before stay in use`)
    return pem
  }
  return Object.defineProperties(tls, {
    ca: { get: () => pem.ca },
    cert: { get: () => pem.cert },
    key: { get: () => pem.key },
    latest: { value: latest },
    tell: { writable: true },
  })
}

/** Changes when a file does; a link of a mounted secret is followed. */
function stampOf(files: Files): string {
  const stamps = names.map((at) => {
    if (files[at] === null) return ''
    try {
      const { dev, ino, size, mtimeNs } = statSync(files[at], { bigint: true })
      return `${dev}/${ino}/${size}/${mtimeNs}`
    } catch (error) {
      // Gone, or in a folder that this user may not search any more.
      return systemCode(error)
    }
  })
  return stamps.join(' ')
}

function readPem(files: Files): { readonly pem: Pem; readonly errors: readonly TlsError[] } {
  const errors: TlsError[] = []
  const read = (at: keyof Files): string | undefined => {
    if (files[at] === null) return undefined
    try {
      const text = readFileSync(files[at], 'utf8')
      if (text.includes('-----BEGIN')) return text
      const isAbsent = text === ''
      const problem = isAbsent ? 'is empty' : 'is not a PEM file'
      errors.push({ at, problem, remedy: 'use a file that begins with -----BEGIN', isAbsent })
    } catch (error) {
      const problem = `cannot be read: ${systemErrorText(error)}`
      const isAbsent = systemCode(error) === 'ENOENT'
      errors.push({ at, problem, remedy: 'use a PEM file that this user can read', isAbsent })
    }
    return undefined
  }
  const [ca, cert, key] = [read('caFile'), read('certFile'), read('keyFile')]
  // Validates the certificates, and only where there are some: a context without would parse those of Node.
  if (errors.length === 0 && (ca ?? cert) !== undefined && (cert === undefined) === (key === undefined))
    try {
      createSecureContext({ ca, cert, key })
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
      const remedy = 'check that the files are complete and that the key belongs to the certificate'
      errors.push({ problem: `cannot be used: ${reason}`, remedy })
    }
  return { pem: { ca, cert, key }, errors }
}
