import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { membersText, fieldsAt, variables } from '../../src/shield/rules/update.ts'
import { AcceptedResult, RateLimitRule } from '../../src/shield/rules/rule.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { interfaceRows } from './interface.ts'
import { enumerations, fieldNames, interfaceItems, variableTypes } from './interface-items.ts'

const read = (path: string) => readFileSync(join(projectFolder, path), 'utf8')

test('the table of the interface has each item once, and nothing else', () => {
  expect(interfaceRows.map(({ item }) => item).toSorted()).toEqual(interfaceItems.toSorted())
})

test.each(interfaceRows)('$item is in the code and in the test that the table names', (row) => {
  const word = row.word ?? row.item.split('.').at(-1)!
  const found = (path: string) => new RegExp(`(?<!\\w)${word.replaceAll('/', '\\/')}`).test(read(path))
  expect(found(row.code), `${row.code} has no ${word}`).toBe(true)
  expect(found(row.test), `${row.test} has no ${word}`).toBe(true)
})

describe('the code has everything that the interface lists', () => {
  test.each([
    'ActionType',
    'OperatorType',
    'SeverityType',
    'TransformationType',
    'CounterKeyType',
    'Timeframe',
    'BlockTime',
  ] as const)('every member of %s, by number and name, and no other', (name) => {
    expect(membersText(name)).toBe(enumerations[name])
  })

  test('every variable, and every field of requests and rules', () => {
    expect(variables).toEqual(variableTypes)
    expect(fieldsAt([])).toEqual(fieldNames('UpdateWafRateLimitRequest'))
    expect(fieldsAt(['ruleConfiguration']).toSorted()).toEqual(fieldNames('RuleConfiguration').toSorted())
    expect(fieldsAt(['ruleConfiguration', 'chainedRuleConditions', 0])).toEqual(
      fieldNames('ChainedCondition'),
    )
    expect(Object.keys(RateLimitRule.shape)).toEqual(fieldNames('RateLimitRule'))
    expect(Object.keys(AcceptedResult.shape)).toEqual(fieldNames('AcceptedResult'))
  })
})
