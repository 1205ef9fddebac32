import { resolve, dirname } from 'node:path'
import { listAccounts } from '../../assemble/reading.ts'
import { ConfigErrors } from '../../config/schema/config-errors.ts'
import { loadConfig } from '../../config/load/load.ts'
import { Failure, messageOf, type FailureCode } from '../../domain/failure.ts'
import { printable } from '../../domain/text/printable.ts'
import { UsageError } from '../registration.ts'
import { KeptSecret, literal } from './document.ts'
import { draftOf, hasKeyInEnvironment, refusal } from './draft.ts'
import { refuseExisting } from './files.ts'
import type { InitContext } from './context.ts'
import { insist } from './questions.ts'
import { setInSection } from './set.ts'
import { wrapped } from '../terminal/wrapped.ts'
import type { ListedZone } from '../../shield/shield-zones.ts'

/** A key that the API was asked with. */
export interface Access {
  /** The section `api` of the configuration. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Undefined where the API could not list them. */
  readonly listed: readonly ListedZone[] | undefined
}

const keyFile = 'access-key'

/** Takes the key from an option, from the environment, or from the person. Throws UsageError and Failure. */
export async function chooseAccess(context: InitContext): Promise<Access> {
  const { options, asker, cwd, file, io } = context
  if (options.accessKeyFile !== undefined)
    return accessWith({ accessKeyFile: literal(resolve(cwd, options.accessKeyFile)) }, context)
  if (hasKeyInEnvironment()) {
    io.stderr.write('The access key is that of SHIELDLOG_API_ACCESS_KEY.\n')
    return accessWith({ accessKey: '${SHIELDLOG_API_ACCESS_KEY}' }, context)
  }
  if (asker === undefined) throw new UsageError('--access-key-file is missing')
  refuseExisting([resolve(dirname(file), keyFile)], `Use it with --access-key-file, or remove it.`)
  return insist(
    () => asker.askHidden('Access key of your bunny.net account (dashboard → Account → API): '),
    async (key) => {
      if (key === '') return undefined
      try {
        return await accessWith({ accessKey: new KeptSecret(keyFile, key) }, context)
      } catch (error) {
        if (!(error instanceof UsageError) && !isRefusedKey(error)) throw error
        asker.stderr.write(wrapped(`${printable(messageOf(error))}\n`, asker.stderr))
        return undefined
      }
    },
    asker,
  )
}

/** Where nobody answers, the key may be as wrong as the address. */
const unreachable: readonly FailureCode[] = ['network', 'timeout', 'tls']

function isRefusedKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'unauthorised'
}

/** Asks the API for the zones. A refused key is an error; another failure leaves the zones unknown. */
async function accessWith(key: Readonly<Record<string, unknown>>, context: InitContext): Promise<Access> {
  const { sections, cwd, io } = context
  const ofApi = sections.filter(({ path }) => path[0] === 'api')
  const document = ofApi.reduce<Record<string, unknown>>((held, one) => setInSection(held, one, cwd), {
    api: key,
  })
  const listed = await listWith(document, context)
  const settings = document['api'] as Record<string, unknown>
  if (!('failure' in listed)) {
    io.stderr.write('Key accepted.\n')
    return { settings, listed: listed.zones }
  }
  const { failure } = listed
  if (failure.code === 'unauthorised') throw failure
  const why = printable(messageOf(failure))
  if (context.asker === undefined && unreachable.includes(failure.code)) {
    const remedy = 'nothing was written: make the API reachable and run init again, or write the file by hand'
    throw new Failure(failure.kind, failure.code, `${why}; ${remedy}`, { cause: failure })
  }
  io.stderr.write(wrapped(`${why}\nThe key and the zones are not checked: run check later.\n`, io.stderr))
  return { settings, listed: undefined }
}

async function listWith(
  document: Readonly<Record<string, unknown>>,
  { cwd, io }: InitContext,
): Promise<{ readonly zones: readonly ListedZone[] } | { readonly failure: Failure }> {
  const { draft, env } = draftOf(document)
  let config
  try {
    ;({ config } = loadConfig({ draft, env, cwd, needs: 'key' }))
  } catch (error) {
    if (error instanceof ConfigErrors) throw refusal(error.errors)
    throw error
  }
  const [account] = await listAccounts(config, io.signal)
  if (account === undefined) throw new UsageError('the environment configures no account')
  return account
}
