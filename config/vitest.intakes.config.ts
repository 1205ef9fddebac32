import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** `npm run test:intakes`: ships to real servers, which test/intakes/install.sh installs. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    projects: [{ extends: true, test: { name: 'intakes', include: ['test/intakes/**/*.test.ts'] } }],
    // Each server takes half a gigabyte of memory or more.
    maxWorkers: 1,
    hookTimeout: 180_000,
  },
})
