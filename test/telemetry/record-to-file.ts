// Loaded into a process as an SDK would be: NODE_OPTIONS=--import=<this file>. Each span that ends becomes a line of the file
// that SHIELDLOG_TEST_SPANS names.
import { appendFileSync } from 'node:fs'
import { registerRecorder } from './span-recorder.ts'

const file = process.env['SHIELDLOG_TEST_SPANS']
if (file === undefined) throw new Error('SHIELDLOG_TEST_SPANS names no file')
registerRecorder((span) => appendFileSync(file, `${JSON.stringify(span)}\n`))
