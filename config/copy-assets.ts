// The last step of the build: what src/ holds besides TypeScript (Lua scripts, say) is read at run time by its place beside
// the module, so dist/ needs it at the same place. Notes for people stay behind.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const from = fileURLToPath(new URL('../src', import.meta.url))
const to = fileURLToPath(new URL('../dist', import.meta.url))

for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || /\.(?:ts|md)$/.test(entry.name)) continue
  const path = join(entry.parentPath, entry.name)
  const target = join(to, path.slice(from.length))
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(path, target)
}
