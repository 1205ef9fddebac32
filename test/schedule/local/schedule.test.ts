import { createLocalSchedule } from '../../../src/schedule/local/schedule.ts'
import { scheduleContract } from '../../contract/schedule.contract.ts'

scheduleContract('timers in this process', async (parts) =>
  createLocalSchedule({
    ...parts,
    streams: () => parts.streams,
    backfillStreams: () => parts.backfillStreams,
  }),
)
