import { expect, test } from 'vitest'
import { formatNames } from '../../src/fields/fields.ts'
import { configEntries } from './config.ts'
import { formats } from '../../src/formats/registry.ts'

test('every setting is named once, with a description of one line', () => {
  const paths = configEntries().map(({ path }) => path)
  expect(new Set(paths).size).toBe(paths.length)
  for (const { path, description } of configEntries()) {
    expect(description, path).not.toBe('')
    expect(description, path).not.toContain('\n')
  }
})

test('exactly the existing formats can be configured', () => {
  expect([...formatNames].toSorted()).toEqual(Object.keys(formats).toSorted())
})
