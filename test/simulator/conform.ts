import { Ajv } from 'ajv'
import { expect } from 'vitest'
import type { Reply } from './asking.ts'

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })

/** The reply has this status, and a JSON body of this content type and schema. */
export function expectReply(reply: Reply, status: number, schema: object, type = 'application/json'): void {
  expect(reply.status, reply.text).toBe(status)
  expect(reply.headers['content-type']).toBe(`${type}; charset=utf-8`)
  expectConforms(schema, reply.json())
}

export function expectConforms(schema: object, value: unknown): void {
  const isGood = ajv.validate(schema, value)
  expect(isGood, ajv.errorsText(ajv.errors, { separator: '\n' })).toBe(true)
}

export const problemType = 'application/problem+json'
