import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startNode } from './setup/processes.ts'
import { projectFolder } from './setup/project-folder.ts'
import { temporaryFolder } from './setup/temp.ts'

// The rules that the design leans on need the types of the whole program; if that ever stopped to work, the linter would only fall
// silent. So it is shown each fault once.
const faults: readonly { readonly rule: string; readonly text: string }[] = [
  { rule: 'typescript(no-floating-promises)', text: 'save()' },
  { rule: 'typescript(no-floating-promises)', text: '[1].map(() => save())' },
  { rule: 'typescript(no-misused-promises)', text: 'if (save()) sayIt()' },
  { rule: 'typescript(no-misused-promises)', text: `process.on('SIGHUP', async () => { await save() })` },
  { rule: 'typescript(await-thenable)', text: 'await sayIt()' },
  { rule: 'typescript(no-explicit-any)', text: 'export const x: any = 1' },
  { rule: 'typescript(no-unsafe-assignment)', text: `export const { x } = JSON.parse('{}')` },
  { rule: 'typescript(only-throw-error)', text: `throw 'no'` },
  { rule: 'typescript(strict-boolean-expressions)', text: `if (process.argv[2]) sayIt()` },
  { rule: 'eslint(no-console)', text: 'console.log(1)' },
]
const sound = `await save()\nvoid save()\nsayIt()\nexport const x: unknown = JSON.parse('{}')\nif (x === 1) sayIt()\n`

const declared =
  'declare function save(): Promise<boolean>\ndeclare function sayIt(): void\nexport const marker = 1;\n'

test('the linter finds errors that need types, and none in correct code', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'src'))
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(projectFolder, 'tsconfig.json'), include: ['src'] }),
  )
  for (const [at, { text }] of faults.entries())
    writeFileSync(join(folder, `src/fault-${at}.ts`), declared + text)
  writeFileSync(join(folder, 'src/sound.ts'), declared + sound)

  const linter = join(projectFolder, 'node_modules/oxlint/bin/oxlint')
  const options = [
    '--type-aware',
    '--deny-warnings',
    '-c',
    join(projectFolder, 'config/oxlint.json'),
    '-f',
    'json',
  ]
  const child = startNode([linter, ...options, 'src'], { cwd: folder })
  expect((await child.exited).code).toBe(1)

  const { diagnostics } = JSON.parse(child.stdout()) as { diagnostics: { code: string; filename: string }[] }
  const codesOf = (file: string): string[] =>
    diagnostics.filter(({ filename }) => filename.endsWith(file)).map(({ code }) => code)
  for (const [at, { rule, text }] of faults.entries()) expect(codesOf(`fault-${at}.ts`), text).toContain(rule)
  expect(codesOf('sound.ts')).toEqual([])
})
