import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { effectiveYaml } from '../../src/config/print.ts'
import { ConfigErrors, type ConfigError } from '../../src/config/errors.ts'
import { type Loaded, loadConfig } from '../../src/config/load.ts'
import type { LoadOptions } from '../../src/config/reading.ts'
import { temporaryFolder } from '../setup/temp.ts'

export interface Given extends Omit<LoadOptions, 'cwd'> {
  /** Content of ./shieldlog.yaml; none: no such file. */
  readonly yaml?: string
  /** More files, by path below the working directory. */
  readonly files?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** Loads in a folder of its own, with nothing of this process's environment. */
export function load({ yaml, files = {}, env = {}, cwd = temporaryFolder(), ...options }: Given): Loaded {
  const all = yaml === undefined ? files : { ...files, 'shieldlog.yaml': yaml }
  for (const [path, content] of Object.entries(all)) {
    const file = join(cwd, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  return loadConfig({ ...options, env, cwd })
}

export function errorsOf(given: Given): readonly ConfigError[] {
  try {
    load(given)
  } catch (error) {
    if (error instanceof ConfigErrors) return error.errors
    throw error
  }
  return []
}

/** What `config print` shows. */
export const printed: (loaded: Loaded) => string = effectiveYaml

export const basics = 'api: { accessKey: key }\nzones: [101]\n'
