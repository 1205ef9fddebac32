/** A stream of random numbers that a seed repeats. */
export interface Random {
  /** In [0, 1). */
  next(): number
  chance(share: number): boolean
  pick<Value>(values: readonly Value[]): Value
  between(from: number, to: number): number
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let value = Math.imul(state ^ (state >>> 15), state | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    next,
    chance: (share) => next() < share,
    pick: (values) => values[Math.floor(next() * values.length)]!,
    between: (from, to) => Math.floor(from + next() * (to - from + 1)),
  }
}
