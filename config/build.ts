// The build of the published package: the bundled program in dist/, and the files of src/ that are not TypeScript (Lua
// scripts, the status page) at the same places as in src/, because modules read them by relative path; and the licences
// of the packages in the bundle, which ask for that.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from './bundle.ts'

const from = fileURLToPath(new URL('../src', import.meta.url))
const to = fileURLToPath(new URL('../dist', import.meta.url))

const packages = await bundle({
  input: { cli: join(from, 'cli.js') },
  folder: to,
  addressOf(path) {
    const place = `./${relative(from, path).replace(/\.ts$/, '.js')}`
    return `new URL(${JSON.stringify(place)}, import.meta.url).href`
  },
})
for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || /\.(?:ts|md)$|^(?:tsconfig\.json|cli\.js)$/.test(entry.name)) continue
  const path = join(entry.parentPath, entry.name)
  const target = join(to, path.slice(from.length))
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(path, target)
}
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>
const licenceOf = (folder: string) =>
  [
    `Licence: ${manifestOf(folder)['license']}`,
    ...readdirSync(folder)
      .filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name))
      .map((name) => readFileSync(join(folder, name), 'utf8').trim()),
  ].join('\n\n')
const licences = [...Map.groupBy(packages, licenceOf)].map(([licence, folders]) => {
  const names = folders.map((folder) => `${manifestOf(folder)['name']} ${manifestOf(folder)['version']}`)
  return `${names.join('\n')}\n\n${licence}\n`
})
writeFileSync(join(to, 'licences.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`))
