import * as z from 'zod'
import {
  addIssue,
  choice,
  described,
  httpUrl,
  jsonFormatNames,
  name,
  onAnySink,
  patternText,
  secret,
  secretFile,
} from '../../fields/fields.ts'
import { checkFile, objectFields } from '../objects/settings.ts'
import { keyError, sasError } from './credentials.ts'

const Account = patternText(
  /^[a-z0-9]{3,24}$/,
  'is not the name of a storage account',
  'write the name alone, 3 to 24 lower-case letters and digits; another address than ACCOUNT.blob.core.windows.net belongs into endpoint',
  'Storage account; it must exist',
)

const Container = patternText(
  /^(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$/,
  'is not the name of a container',
  'write the name alone, 3 to 63 lower-case letters, digits and single "-"; folders belong into prefix',
  'Container that the objects go to; it must exist',
)

const text = z.string().min(1)

const Settings = z.strictObject({
  type: described(z.literal('azure-blob'), 'Kind of sink'),
  name: name('Name of the sink; a new name begins with new checkpoints').default('azure-blob'),
  format: choice(jsonFormatNames, 'Format of each event'),
  ...onAnySink,
  account: Account,
  container: Container,
  endpoint: described(
    httpUrl('', 'set key or sas').nullable().default(null),
    'Address of the blob service, without the container; default: https://ACCOUNT.blob.core.windows.net',
    { kind: 'url' },
  ),
  key: secret('Key of the account', keyError).optional(),
  keyFile: secretFile('the key of the account'),
  sas: secret('Shared access signature of the container, without a URL', sasError).optional(),
  sasFile: secretFile('the shared access signature'),
  tenantId: described(text.nullable().default(null), 'Directory (tenant) id of an application'),
  clientId: described(
    text.nullable().default(null),
    'Application (client) id; without clientSecret that of a managed or workload identity',
  ),
  clientSecret: secret('Secret of the application').optional(),
  clientSecretFile: secretFile('the secret of the application'),
  ...objectFields,
})

export const AzureBlobSinkConfig = Settings.describe(
  'Objects in a container of Azure Blob Storage, with each event exactly once',
).superRefine((settings, context) => {
  const { endpoint, key, sas, tenantId, clientId, clientSecret } = settings
  const mistaken = (at: keyof AzureBlobSinkConfig, problem: string, remedy: string) =>
    addIssue(context, { problem, remedy }, [at])
  if (endpoint !== null && new URL(endpoint).search !== '') {
    const remedy = 'remove "?" and everything after it; a shared access signature belongs into sas'
    mistaken('endpoint', 'has a query', remedy)
  }
  const given = { key, sas, clientSecret }
  const [first, ...others] = (['key', 'sas', 'clientSecret'] as const).filter(
    (each) => given[each] !== undefined,
  )
  for (const other of others) mistaken(other, `cannot be used with ${first}`, 'set one of them')
  if (clientSecret !== undefined)
    for (const [each, value] of Object.entries({ tenantId, clientId }) as [
      'tenantId' | 'clientId',
      string | null,
    ][])
      if (value === null) mistaken(each, 'is missing', 'set tenantId, clientId and clientSecret')
  if (tenantId !== null && clientSecret === undefined)
    mistaken('tenantId', 'is set without clientSecret', 'set clientSecret, or remove it')
  checkFile(settings, context)
})
export type AzureBlobSinkConfig = Readonly<z.output<typeof Settings>>
