import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** `npm run test:quick`: pure, contract and unit suites. These are the others: whole processes, servers that die, sizes. */
const exclude = [
  'test/{compose,dockerfile,docs,lint,packaging}.test.ts',
  'test/{e2e,fuzz,security,setup}/**',
  'test/commands/{audit*,backfill,backfill-daemon,bound-heap,demo,usage}.test.ts',
  'test/pump/model/**',
  'test/schedule/bullmq/{fleet,outage,takeover}.test.ts',
  'test/sinks/file/{crash,disk}.test.ts',
  'test/sinks/stdout/sink.test.ts',
  'test/state/**/{cluster,outage,processes,sentinel,servers,size,tls}.test.ts',
]

export default defineConfig({ ...base, test: { ...base.test, exclude: ['**/node_modules/**', ...exclude] } })
