import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { choice, described } from '../../../config/fields/fields.ts'
import { credentialsOf, keyRemedyOf, type Credentials } from '../../aws/credentials.ts'
import { awsKeyFields, awsKeyMistakes, awsRegion } from '../../aws/settings.ts'
import { createSigner } from '../../aws/signer.ts'
import { type Answer, textOf } from '../exchanges.ts'
import type { Stop } from './answers.ts'
import type { SettingMistake } from './define-preset.ts'
import type { Preset } from './preset.ts'

const Settings = z.strictObject({
  region: awsRegion('Region of the domain or collection'),
  service: choice(
    ['es', 'aoss'],
    'es: a domain of OpenSearch Service; aoss: a collection of OpenSearch Serverless',
  ),
  ...awsKeyFields,
})
type Settings = z.output<typeof Settings>

/** The setting `aws` of a preset whose destination may be a service of AWS. */
export const Aws = described(Settings.optional(), 'Signs requests for AWS (Signature Version 4)')

export function awsMistakes(aws: Settings): SettingMistake[] {
  return [...awsKeyMistakes(aws)].map(([field, error]) => ({ at: ['aws', field], ...error }))
}

/** Signs method, address and body as sent of each request. Refused credentials are read again, or asked for anew. */
export function createAwsSignature(aws: Settings): NonNullable<Preset['authorise']> {
  const credentials = credentialsOf(aws)
  const sign = createSigner(aws.service, aws.region)
  let latest: Credentials | undefined
  return async ({ method, url, body, nowMs, refused }) => {
    const before = latest
    latest = await credentials(refused && before)
    if (refused !== undefined && isDeepStrictEqual(latest, before)) return refused
    const digest = createHash('sha256').update(body).digest()
    return (await sign({ method, url: url.href, digest, nowMs }, latest)).headers
  }
}

const rights = {
  es: 'allow these credentials es:ESHttpPost on the domain; with fine-grained access control, map them to a role there that may write to the index',
  aoss: 'allow these credentials aoss:APIAccessAll in a policy of their role or user, and aoss:CreateIndex and aoss:WriteDocument in a data access policy of the collection',
}

/** Errors of settings and of the clock, in the words of AWS. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/signature (?:expired|not yet current)/i, "set this host's clock, for example by NTP"],
  [/scoped to a valid region/i, 'set aws.region to that of the domain or collection'],
  [
    /scoped to (?:the )?correct service/i,
    'set aws.service: es for a domain, aoss for a collection of OpenSearch Serverless',
  ],
]

/** Why AWS refuses a request before the destination reads it; undefined for any other answer. */
export function readAws(answer: Answer, { service }: Settings): Stop | undefined {
  if (answer.status !== 401 && answer.status !== 403) return undefined
  const said = textOf(answer)
  const remedy = remedies.find(([pattern]) => pattern.test(said))?.[1]
  if (remedy !== undefined) return { kind: 'stop', remedy }
  return { kind: 'stop', remedy: keyRemedyOf(said) ?? rights[service], credentials: true }
}
