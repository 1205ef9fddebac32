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
  ...objectFields,
})

export const AzureBlobSinkConfig = Settings.describe(
  'Objects in a container of Azure Blob Storage, with each event exactly once',
).superRefine((settings, context) => {
  const { endpoint, key, sas } = settings
  if (endpoint !== null && new URL(endpoint).search !== '') {
    const remedy = 'remove "?" and everything after it; a shared access signature belongs into sas'
    addIssue(context, { problem: 'has a query', remedy }, ['endpoint'])
  }
  if (key !== undefined && sas !== undefined)
    addIssue(context, { problem: 'cannot be used with key', remedy: 'set one of them' }, ['sas'])
  if (key === undefined && sas === undefined)
    addIssue(context, { problem: 'is missing', remedy: 'set key or sas' }, ['key'])
  checkFile(settings, context)
})
export type AzureBlobSinkConfig = Readonly<z.output<typeof Settings>>
