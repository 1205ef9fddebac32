import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { projectFolder } from '../setup/project-folder.ts'

export interface LuaScript {
  readonly name: string
  readonly hash: string
  /** All commands that it may call, on whichever branch, in lower case. */
  readonly commands: readonly string[]
}

/** What stands before all other scripts of its folder. */
const sharedFunctions = 'functions.lua'

/** The scripts of this project. */
export function ownScripts(): LuaScript[] {
  const paths = globSync('src/**/*.lua', { cwd: projectFolder })
  const shared = paths.filter((path) => basename(path) === sharedFunctions)
  const read = (path: string) => readFileSync(join(projectFolder, path), 'utf8')
  return paths
    .filter((path) => !shared.includes(path))
    .map((path) => {
      const before = shared.filter((each) => dirname(each) === dirname(path)).map(read)
      return scriptOf(basename(path), [...before, read(path)].join(''))
    })
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
