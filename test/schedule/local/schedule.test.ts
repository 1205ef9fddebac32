import { LocalSchedule } from '../../../src/schedule/local/schedule.ts'
import { scheduleContract } from '../../contract/schedule.contract.ts'

scheduleContract(
  'timers in this process',
  async (parts) =>
    new LocalSchedule({ ...parts, places: { live: parts.streams, backfill: parts.backfillStreams } }),
)
