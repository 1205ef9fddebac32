import { ConfigErrors, isWithin, valueAt } from './errors.ts'
import { type Environment, quotedNames, unknownNames } from './environment.ts'
import { type LoadOptions, ConfigReading } from './reading.ts'
import { checkSinks, resolveConfig } from './resolve.ts'
import { Secret } from '../domain/text/secret.ts'
import { type Config, ServerAddress } from './schema.ts'
import { configWarnings, readableSecretsWarnings } from './warnings.ts'

export interface Loaded {
  readonly config: Config
  /** For `config print`. */
  readonly reading: ConfigReading
  readonly warnings: readonly string[]
  /** Warnings of the file itself, for `check`: in a container a file that all may read is usual. */
  readonly exposed: readonly string[]
  /** Settings of the file that the environment replaces. */
  readonly overridden: readonly string[]
  /** Absolute; absent where there is no file. */
  readonly file?: string
}

/**
 * The environment overrides the file, the file the defaults. Throws ConfigErrors: first with all errors of single
 * settings and all sinks with the same name or folder, and once there are none with the other conflicts between settings.
 */
export function loadConfig(options: LoadOptions = {}): Loaded {
  const reading = new ConfigReading(options.env ?? process.env, options)
  const { errors, file } = reading
  const parsed = reading.parse()
  const isWell = errors.length === 0
  checkSinks(valueAt(reading.written, ['sinks']), reading.report)
  const config = parsed && isWell ? resolveConfig(parsed, reading) : undefined
  if (config === undefined || errors.length > 0) throw new ConfigErrors(errors, reading.searched)
  return {
    config,
    reading,
    overridden: [...reading.overridden].map(
      ([path, name]) => `${path} is overridden by the environment: ${name}`,
    ),
    warnings: [
      ...[unknownNames, quotedNames].flatMap((namesOf) => namesOf(reading.env, reading.asked)),
      ...configWarnings(config, reading.env),
    ],
    exposed: file === undefined ? [] : readableSecretsWarnings(file, reading.plainSecrets),
    ...(file?.path === undefined ? {} : { file: file.path }),
  }
}

/**
 * Where the configured server listens, and its token, which may not be resolved. Needs no secret and does not fail
 * because of another setting, so that a probe can ask it. Throws ConfigErrors.
 */
export function loadServerAddress(
  config: string | undefined,
  env: Environment = process.env,
  cwd = process.cwd(),
): ServerAddress & { readonly token?: Secret } {
  const reading = new ConfigReading(env, { argv: { config }, cwd, needs: 'nothing' })
  reading.parse()
  const own = ['server.host', 'server.port']
  const errors = reading.errors.filter(({ path }) => path === '' || own.some((each) => isWithin(each, path)))
  if (errors.length > 0) throw new ConfigErrors(errors, reading.searched)
  const [host, port, token] = ['host', 'port', 'token'].map((key) =>
    valueAt(reading.written, ['server', key]),
  )
  return { ...ServerAddress.parse({ host, port }), ...(token instanceof Secret && { token }) }
}
