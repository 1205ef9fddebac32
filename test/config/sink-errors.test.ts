import { expect, test } from 'vitest'
import { errorLine } from '../../src/config/errors.ts'
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

const archive = '  - { name: archive, type: file, path: a }\n'

test.each([
  {
    wrong: 'preset: ndjsn, url: "127.0.0.1:99", headrs: { A: b }',
    said: [
      'sinks[1].preset = "ndjsn" (shieldlog.yaml:5): is not an allowed value; did you mean ndjson?',
      'sinks[1].headrs (shieldlog.yaml:5): is not a setting; did you mean headers?',
      expect.stringMatching(/^sinks\[1\]\.url = .*: is not an http or https URL; write a complete URL/),
    ],
  },
  {
    wrong: 'preset: elastic, url: "127.0.0.1:99", apiKey: k, pipelin: x',
    said: [
      expect.stringMatching(
        /^sinks\[1\]\.preset = "elastic" .*: is not an allowed value; write elasticsearch/,
      ),
      expect.stringMatching(/^sinks\[1\]\.pipelin .*: is not a setting; did you mean pipeline\?/),
      expect.stringMatching(/^sinks\[1\]\.url = .*: is not an http or https URL/),
    ],
  },
  {
    // Nothing is said to be missing: that depends on the preset that is meant.
    wrong: 'preset: quantum, compression: zip',
    said: [
      expect.stringMatching(/^sinks\[1\]\.preset = "quantum" .*: is not an allowed value/),
      expect.stringMatching(/^sinks\[1\]\.compression = "zip" .*: is not an allowed value/),
    ],
  },
])('everything that is wrong with a sink is said at once: $wrong', ({ wrong, said }) => {
  const lines = linesOf(`${archive}  - { name: archive, type: http, ${wrong} }\n`)
  expect(lines).toEqual([
    ...said,
    'sinks[1].name = "archive" (shieldlog.yaml:5): is also the name of another sink; give each sink a different name',
  ])
})

test('an unknown type is said together with what else is wrong in its sink', () => {
  expect(linesOf('  - { type: fil, path: 7, where: { acton: [x] } }\n')).toEqual([
    'sinks[0].type = "fil" (shieldlog.yaml:4): is not an allowed value; did you mean file?',
    'sinks[0].where.acton (shieldlog.yaml:4): is not a setting; did you mean actions?',
    expect.stringMatching(/^sinks\[0\]\.path .*: is a number/),
  ])
})
