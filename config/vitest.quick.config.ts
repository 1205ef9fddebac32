import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** `npm run test:quick`: pure, contract and unit suites. Excluded: whole processes, failing servers, sizes. */
const exclude = [
  'test/{compose,dockerfile,docs,packaging}.test.ts',
  'test/{e2e,fuzz,security,setup}/**',
  'test/tasks/{audit/audit,audit/deep,backfill/backfill,run/demo}.test.ts',
  'test/program/usage.test.ts',
  'test/pump/model/**',
  'test/schedule/bullmq/outage.test.ts',
  'test/sinks/file/{disk,model}.test.ts',
  'test/sinks/stdout/sink.test.ts',
  'test/state/**/{cluster,outage,sentinel,servers,size,tls}.test.ts',
]

export default defineConfig({ ...base, test: { ...base.test, exclude } })
