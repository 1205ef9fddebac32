import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { projectFolder } from '../setup/project-folder.ts'

export interface LuaScript {
  readonly name: string
  readonly hash: string
  /** All commands that it may call, on whichever branch, in lower case. */
  readonly commands: readonly string[]
}

/** The scripts of this project. */
export function ownScripts(): LuaScript[] {
  const paths = globSync('src/**/*.lua', { cwd: projectFolder })
  return paths.map((path) => scriptOf(basename(path), readFileSync(join(projectFolder, path), 'utf8')))
}

/** All scripts of the queue's package. */
export async function queueScripts(): Promise<LuaScript[]> {
  const folder = join(projectFolder, 'node_modules/bullmq/dist/esm/scripts')
  const found: LuaScript[] = []
  for (const path of globSync('*-*.js', { cwd: folder })) {
    const exported = (await import(pathToFileURL(join(folder, path)).href)) as Record<string, unknown>
    for (const value of Object.values(exported)) {
      const { name, content } = value as { readonly name?: unknown; readonly content?: unknown }
      if (typeof name === 'string' && typeof content === 'string') found.push(scriptOf(name, content))
    }
  }
  return found
}

function scriptOf(name: string, text: string): LuaScript {
  const code = text.replaceAll(/--\[\[[\s\S]*?\]\]/g, '').replaceAll(/--.*/g, '')
  const called = [...code.matchAll(/(?:redis\.p?call|rcall)\(\s*(?:["'](\w+)["']|(\w+))/g)]
  const commands = called.flatMap(([, command, variable]) => {
    if (command !== undefined) return [command]
    // A name that no right bears: a script that may call anything cannot be given a list.
    return variable === 'pushCmd' ? ['lpush', 'rpush'] : [`whatever stands in ${variable}`]
  })
  const hash = createHash('sha1').update(text).digest('hex')
  return { name, hash, commands: [...new Set(commands.map((each) => each.toLowerCase()))] }
}
