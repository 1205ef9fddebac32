import { createHmac } from 'node:crypto'
import * as z from 'zod'
import { headerSecret, secretFile } from '../../../config/fields/fields.ts'
import type { Secret } from '../../../domain/text/secret.ts'
import type { SettingMistake } from './define-preset.ts'
import type { Preset } from './preset.ts'

/** Settings for HTTP Basic authentication. */
export const basicSettings = {
  username: z.string().min(1).optional().describe('User name, with password'),
  password: headerSecret('Password of that user').optional(),
  passwordFile: secretFile('the password'),
}

export interface Basic {
  readonly username?: string | undefined
  readonly password?: Secret | undefined
}

export function basicOf({ username, password }: Basic): string | undefined {
  if (username === undefined || password === undefined) return undefined
  return `Basic ${Buffer.from(`${username}:${password.reveal()}`).toString('base64')}`
}

/** The errors: one of user name and password without the other, or both together with other credentials. */
export function basicMistakes({ username, password }: Basic, other: object | undefined, otherName: string) {
  const mistakes: SettingMistake[] = []
  const has = { username: username !== undefined, password: password !== undefined }
  if (has.username !== has.password)
    mistakes.push({
      at: has.username ? 'password' : 'username',
      problem: 'is missing',
      remedy: `give username with password, or ${otherName}`,
    })
  if (has.username && other !== undefined)
    mistakes.push({
      at: otherName,
      problem: 'cannot be used with username',
      remedy: `keep one of ${otherName} and username with password`,
    })
  return mistakes
}

/** The error if a required secret is set neither as text nor as a file. */
export function missing(name: string, value: Secret | undefined): readonly SettingMistake[] {
  if (value !== undefined) return []
  return [{ at: name, problem: 'is missing', remedy: `give ${name} or ${name}File` }]
}

/** One header with the current secret. */
export function header(name: string, value: () => string | undefined): NonNullable<Preset['authorise']> {
  return () => {
    const text = value()
    return Promise.resolve(text === undefined ? {} : { [name]: text })
  }
}

export interface SignatureSettings {
  readonly header: string
  readonly secret?: Secret | undefined
  readonly algorithm: string
}

/** Signs each body as sent, the way webhooks do: `X-Signature: sha256=<hex>`. */
export function createSignature({
  header,
  secret,
  algorithm,
}: SignatureSettings): NonNullable<Preset['authorise']> {
  return ({ body }) => {
    const hex = createHmac(algorithm, secret?.reveal() ?? '')
      .update(body)
      .digest('hex')
    return Promise.resolve({ [header.toLowerCase()]: `${algorithm}=${hex}` })
  }
}
