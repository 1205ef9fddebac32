import { createHmac } from 'node:crypto'
import type { Secret } from '../../../domain/text/secret.ts'
import type { Preset } from './preset.ts'

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
