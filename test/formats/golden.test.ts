import { expect, test } from 'vitest'
import { formats, type FormatName } from '../../src/formats/registry.ts'
import type { Event } from '../../src/domain/event/event.ts'
import { shapes } from './shapes.ts'

const everything = { labels: true, log: true, raw: true }

test.each(Object.keys(formats) as FormatName[])(
  'a line in %s equals the reviewed one for every shape of an entry',
  async (name) => {
    const format = formats[name]()
    const whole = formats[name](everything)
    const texts = shapes.map(([shape, event]) => `# ${shape}\n${shown(format.encode, event)}\n`)
    const [, first] = shapes[0]!
    texts.push(`# with labels, log and raw\n${shown(whole.encode, first)}\n`)
    await expect(texts.join('\n')).toMatchFileSnapshot(`../fixtures/formats/${name}.golden`)
  },
)

/** JSON with a member on each line, for a reader; any other line as it is. */
function shown(encode: (event: Event) => string, event: Event): string {
  try {
    const line = encode(event)
    return line.startsWith('{') ? JSON.stringify(JSON.parse(line), null, 2) : line
  } catch (error) {
    return `no line: ${(error as Error).message}`
  }
}
