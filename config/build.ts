// The build of the published package: the bundled program in dist/, and the files of src/ that are not TypeScript (Lua
// scripts, the status page) at the same places as in src/, because modules read them by relative path.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from './bundle.ts'

const from = fileURLToPath(new URL('../src', import.meta.url))
const to = fileURLToPath(new URL('../dist', import.meta.url))

await bundle({
  input: { cli: join(from, 'cli.ts') },
  folder: to,
  addressOf(path) {
    const place = `./${relative(from, path).replace(/\.ts$/, '.js')}`
    return `new URL(${JSON.stringify(place)}, import.meta.url).href`
  },
})
for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || /\.(?:ts|md)$|^tsconfig\.json$/.test(entry.name)) continue
  const path = join(entry.parentPath, entry.name)
  const target = join(to, path.slice(from.length))
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(path, target)
}
