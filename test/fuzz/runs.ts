/** How many cases a property draws; `npm run test:long` asks for many times as many. */
export function runsOf(usual: number): number {
  const times = Number(process.env['SHIELDLOG_TEST_FUZZ_TIMES'] ?? 1)
  if (!(times > 0)) throw new Error('SHIELDLOG_TEST_FUZZ_TIMES takes a number above 0')
  return Math.ceil(usual * times)
}
