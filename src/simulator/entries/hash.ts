/** Bijective on 32 bits: distinct inputs never collide, so ids made from a sequence number are unique. */
export function mix(value: number): number {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** 32-bit hash of a text, for orders that must not depend on time. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return mix(hash)
}

const quads = Array.from({ length: 65_536 }, (_, value) => value.toString(16).padStart(4, '0'))

/** Four hexadecimal digits of the low 16 bits. */
export function hex4(value: number): string {
  return quads[value & 0xffff] ?? '0000'
}

/** A pseudo-random sequence that depends on the seed only. */
export function createDice(seed: number): { upTo(limit: number): number; oneOf<T>(values: readonly T[]): T } {
  let state = mix(seed ^ 0x9e3779b9)
  const upTo = (limit: number): number => {
    state = mix(state + 0x9e3779b9)
    return state % limit
  }
  return { upTo, oneOf: (values) => values[upTo(values.length)]! }
}
