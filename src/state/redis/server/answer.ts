import type { Answer } from './link.ts'

/** Reads what a script answers; anything else than what it promises is a bug. */
export function textOf(answer: Answer | undefined): string {
  if (answer instanceof Uint8Array) return Buffer.from(answer).toString()
  throw new TypeError(`a script answered ${typeof answer} where text was due`)
}

export function numberOf(answer: Answer | undefined): number {
  if (typeof answer === 'number') return answer
  throw new TypeError(`a script answered ${typeof answer} where a number was due`)
}

export function bytesOf(answer: Answer | undefined): Uint8Array {
  if (answer instanceof Uint8Array) return answer
  throw new TypeError(`a script answered ${typeof answer} where bytes were due`)
}

export function listOf(answer: Answer | undefined): readonly Answer[] {
  if (Array.isArray(answer)) return answer as readonly Answer[]
  throw new TypeError(`a script answered ${typeof answer} where a list was due`)
}
