/** Dates at which tests run too: what depends on a date fails on few. `at`: when a test worker begins. */
export const rareDates = [
  { name: 'end of a month', at: '2026-04-30T23:30:00Z', zone: 'Asia/Tokyo' },
  { name: 'new year', at: '2027-01-01T00:02:00Z', zone: 'UTC' },
  { name: '29 February', at: '2028-02-29T12:00:00Z', zone: 'UTC' },
  // Seconds before a change of daylight saving time, so that it happens while the suites run.
  { name: 'clocks forward', at: '2026-03-08T06:59:50Z', zone: 'America/New_York' },
  { name: 'clocks back', at: '2026-11-01T05:59:50Z', zone: 'America/New_York' },
] as const
