import * as z from 'zod'
import { addIssue, described, headerSecret, patternText, secret, secretFile } from '../../fields/fields.ts'
import type { SettingError } from '../../domain/text/http-rules.ts'

export function awsRegion(description: string, remedy = 'write it as in eu-central-1') {
  return patternText(/^[a-z0-9][a-z0-9-]{0,62}$/, 'is not a region', remedy, description)
}

/** A key or a profile; without both the chain of AWS finds credentials. */
export const awsKeyFields = {
  accessKeyId: headerSecret('Id of the access key').optional(),
  accessKeyIdFile: secretFile('the id of the access key'),
  secretAccessKey: secret('Secret of the access key').optional(),
  secretAccessKeyFile: secretFile('the secret of the access key'),
  sessionToken: headerSecret('Session token of temporary credentials').optional(),
  sessionTokenFile: secretFile('the session token'),
  profile: described(
    z.string().min(1).nullable().default(null),
    'Profile in the files of AWS; without it and without a key the usual chain of AWS finds credentials',
  ),
}

const Keys = z.object(awsKeyFields)
export type AwsKeys = Readonly<
  Pick<z.output<typeof Keys>, 'accessKeyId' | 'secretAccessKey' | 'sessionToken' | 'profile'>
>

/** Adds the errors between settings that are valid one by one. */
export function checkAwsKeys(keys: AwsKeys, context: z.RefinementCtx): void {
  const { accessKeyId, secretAccessKey, sessionToken, profile } = keys
  const mistaken = (at: keyof AwsKeys, error: SettingError) => addIssue(context, error, [at])
  const pair = { problem: 'is missing', remedy: 'set accessKeyId and secretAccessKey, or neither' }
  if (accessKeyId !== undefined && secretAccessKey === undefined) mistaken('secretAccessKey', pair)
  if (accessKeyId === undefined && secretAccessKey !== undefined) mistaken('accessKeyId', pair)
  const alone = { problem: 'is set without accessKeyId', remedy: 'set the key that it belongs to' }
  if (accessKeyId === undefined && sessionToken !== undefined) mistaken('sessionToken', alone)
  const both = { problem: 'cannot be used with accessKeyId', remedy: 'set one of them' }
  if (accessKeyId !== undefined && profile !== null) mistaken('profile', both)
}
