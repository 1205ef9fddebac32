import { expect, it } from 'vitest'
import { readBody } from '../../../src/shield/client/read-body.ts'

const page = 'page 3 of zone 101, 2026-11-28'
const read = (body: string | Buffer) => readBody(Buffer.from(body as string), page)

it('a body is JSON in UTF-8, with or without a byte order mark, and one bad byte does not lose a page', () => {
  expect(read('\ufeff{"a":1}')).toEqual({ value: { a: 1 } })
  expect(read(Buffer.from([0x22, 0xff, 0x22]))).toEqual({ value: '\ufffd' })
  expect(read('null')).toEqual({ value: null })
})

it('raw control characters and bad escapes inside strings are read, and the byte of the first is told', () => {
  expect(read('{"url":"/é\u0001\\x41"}')).toEqual({ value: { url: '/é\u0001\\x41' }, repairedAt: 11 })
  // Each byte that is no UTF-8 is one byte, whatever takes its place in the text.
  const bytes = Buffer.from('\ufeff["__\u0002"]')
  bytes.fill(0xff, 5, 7)
  expect(read(bytes)).toEqual({ value: ['\ufffd\ufffd\u0002'], repairedAt: 7 })
})

it.each([
  ['{"é":NaN}', `${page} is invalid JSON at byte 6 of 10: NaN stands there`],
  ['{"a":"x" "y"}', `${page} is invalid JSON at byte 9 of 13: " stands there`],
  ['{"a":"secret="token"}', `${page} is invalid JSON at byte 14 of 21: t stands there`],
  ['{"a":"x', `${page} is invalid JSON at byte 7 of 7: it ends there`],
  ['[\u0001]', `${page} is invalid JSON at byte 1 of 3: an unprintable byte stands there`],
  ['\ufeff{"a":\ufeff1}', `${page} is invalid JSON at byte 8 of 13: an unprintable byte stands there`],
  ['', 'the answer is no JSON but empty'],
  [' \n', 'the answer is no JSON but blank'],
  ['\ufeff', 'the answer is no JSON but blank'],
  ['NaN', 'the answer is no JSON but text: "NaN"'],
  ['cb({"logs":[{"logId":"1"}]})', 'the answer is no JSON but text: "cb("'],
  [Buffer.from('\ufeff{"a":1}', 'utf16le'), 'the answer is no JSON but UTF-16'],
  [Buffer.from('{"a":1}', 'utf16le'), 'the answer is no JSON but UTF-16'],
  ['<html><Title lang="en">Sign\n in</title>', 'the answer is no JSON but HTML with the title "Sign in"'],
  ['<p>Blocked.<script>x()</script> Ref <b>1</b>', 'the answer is no JSON but HTML: "Blocked. Ref 1"'],
  ['<?xml version="1.0"?>', 'the answer is no JSON but XML'],
  ['<Error><Code>no</Code></Error>', 'the answer is no JSON but XML that begins with Error'],
  ['<?xml version="1.0"?><a:Logs x="1"><Log>GET /', 'the answer is no JSON but XML that begins with a:Logs'],
  ['<html>Logs: {"Url":"https://h/"}', 'the answer is no JSON but HTML: "Logs:"'],
  [`no${'o'.repeat(500)}`, `the answer is no JSON but text: "no${'o'.repeat(98)}…"`],
])('what is no JSON is told without anything of an event: %j', (body, instead) => {
  expect(read(body)).toEqual({ value: undefined, instead })
})
