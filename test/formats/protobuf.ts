import { json } from './authorities.ts'

/** What protoc wrote of a message. */
interface Message {
  readonly name: string
  readonly fields: ReadonlyMap<number, Field>
}
interface Field {
  readonly name: string
  readonly type: number
  /** Of a message in it. */
  readonly of: string
  readonly isList: boolean
}

// Numbers of google/protobuf/descriptor.proto.
const [repeated, fixed64, int32, int64, text, message, bytes, uint32, enumeration, fixed32] = [
  3, 6, 5, 3, 9, 11, 12, 13, 14, 7,
]

const descriptors = Object.values(json('otlp-descriptors.json') as Record<string, string>)
const messages = new Map(
  descriptors.flatMap((file) => {
    const read = wireOf(Buffer.from(file, 'base64'))
    const prefix = `.${textsAt(read, 2)[0]}`
    return messagesAt(read, 4).map((each) => {
      const name = `${prefix}.${textsAt(each, 1)[0]}`
      return [name, { name, fields: new Map(messagesAt(each, 2).map(fieldOf)) }] satisfies [string, Message]
    })
  }),
)

export const exportRequest = '.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest'

/**
 * The JSON form of a message of OTLP. It knows the wire format and the descriptors of the protocol, and nothing of what
 * wrote the bytes. Throws for a field that the protocol does not have, has as another type, or has once and is there twice.
 */
export function protobufAsJson(body: Buffer, name: string): Record<string, unknown> {
  const { fields } = messages.get(name)!
  const read: Record<string, unknown> = {}
  for (const { id, held } of wireOf(body)) {
    const field = fields.get(id)
    if (field === undefined) throw new Error(`${name} has no field ${id}`)
    const value = valueOf(held, field)
    if (field.isList) ((read[field.name] ??= []) as unknown[]).push(value)
    else if (Object.hasOwn(read, field.name)) throw new Error(`${field.name} is there twice`)
    else read[field.name] = value
  }
  return read
}

function valueOf(held: Buffer | bigint, { name, type, of }: Field): unknown {
  if (typeof held === 'bigint') {
    if (type === int64) return String(BigInt.asIntN(64, held))
    if (type === fixed64) return String(held)
    if ([int32, uint32, enumeration, fixed32].includes(type)) return Number(BigInt.asIntN(32, held))
  } else {
    if (type === text) return new TextDecoder('utf-8', { fatal: true }).decode(held)
    if (type === message) return protobufAsJson(held, of)
    if (type === bytes) return held.toString('base64')
  }
  throw new Error(`${name} is not of type ${type}`)
}

function fieldOf(read: Wire[]): [number, Field] {
  const number = (id: number) => Number(read.find((each) => each.id === id)?.held ?? 0)
  const name = textsAt(read, 1)[0]!.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return [number(3), { name, type: number(5), of: textsAt(read, 6)[0] ?? '', isList: number(4) === repeated }]
}

interface Wire {
  readonly id: number
  readonly held: Buffer | bigint
}

/** The fields of a message as they are on the wire. Throws for bytes that are none. */
function wireOf(body: Buffer): Wire[] {
  const read: Wire[] = []
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = body.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (size: number) => {
    if (at + size > body.length) throw new Error('the message ends too early')
    return body.subarray(at, (at += size))
  }
  while (at < body.length) {
    const key = Number(varint())
    const kind = key & 7
    const id = key >>> 3
    if (kind === 0) read.push({ id, held: varint() })
    else if (kind === 1) read.push({ id, held: take(8).readBigUInt64LE() })
    else if (kind === 2) read.push({ id, held: take(Number(varint())) })
    else if (kind === 5) read.push({ id, held: BigInt(take(4).readUInt32LE()) })
    else throw new Error(`there is no wire type ${kind}`)
  }
  return read
}

function messagesAt(read: readonly Wire[], id: number): Wire[][] {
  return read.flatMap(({ id: own, held }) => (own === id && Buffer.isBuffer(held) ? [wireOf(held)] : []))
}

function textsAt(read: readonly Wire[], id: number): string[] {
  return read.flatMap(({ id: own, held }) => (own === id && Buffer.isBuffer(held) ? [held.toString()] : []))
}
