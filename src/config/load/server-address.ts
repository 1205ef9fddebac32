import { type Environment, expand, ExpandError, type Sources } from './expand.ts'
import { environmentLayer, overlay } from './layers.ts'
import { type Path, pathText, valueAt } from '../schema/path.ts'
import { readSourceFile } from './source-file.ts'
import { ServerSetting } from '../schema/schema.ts'
import { settingsOf } from '../schema/settings.ts'
import { fileShape as shape } from '../schema/file-shape.ts'
import { Failure } from '../../domain/failure.ts'

export interface ServerAddress {
  readonly host: string
  readonly port: number
}

const places = { host: ['server', 'host'], port: ['server', 'port'] } as const
const settings = settingsOf(shape).filter(({ path }) =>
  Object.values(places).some((place) => pathText(place) === pathText(path)),
)

/**
 * Where the configured server listens. Reads nothing else, so that a probe needs no secret and does not fail because of
 * another setting. Throws ConfigErrors for an unreadable file, and Failure for an unusable address.
 */
export function loadServerAddress(
  config: string | undefined,
  env: Environment = process.env,
  cwd = process.cwd(),
): ServerAddress {
  const named = config ?? (env['SHIELDLOG_CONFIG'] === '' ? undefined : env['SHIELDLOG_CONFIG'])
  const file = readSourceFile(named, cwd)
  const laid = overlay(file?.value ?? {}, shape, [environmentLayer(env, settings)])
  const read = (path: Path) => textAt(laid.value, path, { env, cwd })
  const port = read(places.port)
  const parsed = ServerSetting.safeParse({
    host: read(places.host),
    port: typeof port === 'string' ? Number(port) : port,
  })
  const [error] = laid.errors
  if (parsed.success && error === undefined) return parsed.data
  const wrong = error?.path ?? ['server', ...(parsed.error?.issues[0]?.path.map(String) ?? [])]
  const where = file === undefined ? 'the environment' : `${file.label} or the environment`
  throw new Failure(
    'stop',
    'rejected',
    `${pathText(wrong)} in ${where} is not valid; config print shows the error`,
  )
}

function textAt(settings: unknown, path: Path, sources: Sources): unknown {
  const value = valueAt(settings, path) ?? undefined
  if (typeof value !== 'string') return value
  try {
    return expand(value, sources)
  } catch (error) {
    if (!(error instanceof ExpandError)) throw error
    throw new Failure('stop', 'rejected', `${pathText(path)} ${error.message}; ${error.remedy}`)
  }
}
