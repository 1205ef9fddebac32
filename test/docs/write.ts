// `npm run docs`: fills the blocks of README.md that the code itself gives.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fillBlocks, generatedBlocks } from './blocks.ts'

const readme = fileURLToPath(new URL('../../README.md', import.meta.url))
const before = readFileSync(readme, 'utf8')
const after = fillBlocks(before, generatedBlocks())
if (after !== before) writeFileSync(readme, after)
process.stderr.write(after === before ? 'README.md is up to date\n' : 'README.md was written\n')
