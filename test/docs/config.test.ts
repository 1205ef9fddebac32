import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { formatNames } from '../../src/config/fields/fields.ts'
import { configEntries } from './config.ts'
import { formats } from '../../src/formats/registry.ts'
import { load, printed } from '../config/loading.ts'

test('every setting is named once, with a description of one line', () => {
  const paths = configEntries().map(({ path }) => path)
  expect(new Set(paths).size).toBe(paths.length)
  for (const { path, description } of configEntries()) {
    expect(description, path).not.toBe('')
    expect(description, path).not.toContain('\n')
  }
})

test('the reference has the defaults of the program', () => {
  const effective: unknown = parse(printed(load({ needs: 'nothing' })))
  const inForce = (path: string) =>
    path
      .split('.')
      .reduce<unknown>((held, key) => (held as Record<string, unknown> | undefined)?.[key], effective)
  const told = configEntries().filter(
    ({ path, default: value }) => value !== undefined && !path.includes('['),
  )
  const compared = told.filter(({ path }) => inForce(path) !== undefined && path !== 'sinks')
  expect(compared.length).toBeGreaterThan(25)
  for (const { path, default: value } of compared) {
    const actual = inForce(path)
    expect(typeof actual === 'string' ? actual : JSON.stringify(actual), path).toBe(value)
  }
})

test('exactly the existing formats can be configured', () => {
  expect([...formatNames].toSorted()).toEqual(Object.keys(formats).toSorted())
})
