import { expect, test } from 'vitest'
import { errorLine } from '../../src/config/schema/config-errors.ts'
import { basics, errorsOf } from './loading.ts'

const linesOf = (sinks: string) => errorsOf({ yaml: `${basics}sinks:\n${sinks}` }).map(errorLine)

test('a signature in a header that the sink sets is refused, with field, value and remedy', () => {
  expect(
    linesOf(
      '  - { type: http, url: "https://siem.example", signature: { header: Content-Type, secret: abcdefgh } }\n',
    ),
  ).toEqual([
    'sinks[0].signature.header = "Content-Type" (shieldlog.yaml:4): is a header that the sink sets or that proxies read; choose another one, such as X-Signature',
  ])
})
