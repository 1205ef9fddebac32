import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files of a quarter of a minute and more, about the slowest first; those that start many processes at once stand apart. */
const slowest = [
  'e2e/fleet-redis',
  'e2e/fleet-workers',
  'docs',
  'e2e/crash-sqlite',
  'tasks/audit/deep',
  'e2e/resend',
  'e2e/crash-redis',
  'schedule/bullmq/outage',
  'dockerfile',
  'tasks/full-state',
  'e2e/crash-objects',
  'pump/model/model',
  'e2e/hostile-files',
  'state/store',
  'tasks/audit/objects',
  'tasks/absent-files',
  'e2e/hostile-api',
  'server/stopping',
  'packaging',
  'tasks/backfill/backfill',
  'e2e/daemon',
  'e2e/lost-state',
  'state/redis/size',
  'e2e/terminal',
  'e2e/dead-letters-killed',
  'tasks/renamed-sink',
  'e2e/hostile-http',
  'state/redis/cluster',
  'e2e/backfill-archive-killed',
  'sinks/http/presets/contract',
  'shield/redaction/hostile-entries',
].map((name) => `test/${name}.test.ts`)

/** Otherwise, on a machine that has no cache of the last run, one of them begins last and everything waits for its end. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const at = slowest.findIndex((file) => moduleId.endsWith(file))
      return at === -1 ? slowest.length : at
    }
    // Suites share worker processes only with those of their project that come right after them.
    return (await super.sort(files)).sort(
      (left, right) => left.project.name.localeCompare(right.project.name) || rankOf(left) - rankOf(right),
    )
  }
}
