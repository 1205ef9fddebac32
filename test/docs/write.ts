// `npm run docs`: fills the blocks of README.md and docs/ that the code itself gives, and writes the alerts for the
// Prometheus operator.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../setup/project-folder.ts'
import { keepCosts } from '../bench/cost/costs.ts'
import { fillBlocks, generatedBlocks, prometheusRule, prometheusRulePath } from './blocks.ts'
import { pages, readPage } from './pages.ts'

await keepCosts()
const blocks = await generatedBlocks()
const written = pages.filter(({ path, text }) => {
  const filled = fillBlocks(text, blocks)
  if (filled !== text) writeFileSync(join(projectFolder, path), filled)
  return filled !== text
})
const names = written.map(({ path }) => path)
const rule = prometheusRule()
if (rule !== readPage(prometheusRulePath)) {
  writeFileSync(join(projectFolder, prometheusRulePath), rule)
  names.push(prometheusRulePath)
}
process.stderr.write(names.length === 0 ? 'all pages are up to date\n' : `written: ${names.join(', ')}\n`)
