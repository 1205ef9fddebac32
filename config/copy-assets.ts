// The last step of the build: copies the files in src/ that are not TypeScript (Lua scripts, say) to the same place in
// dist/, because modules read them by relative path. READMEs and the settings of the compiler are not copied.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const from = fileURLToPath(new URL('../src', import.meta.url))
const to = fileURLToPath(new URL('../dist', import.meta.url))

for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || /\.(?:ts|md)$|^tsconfig\.json$/.test(entry.name)) continue
  const path = join(entry.parentPath, entry.name)
  const target = join(to, path.slice(from.length))
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(path, target)
}
