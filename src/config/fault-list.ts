import { ConfigFaults, type Fault } from './faults.ts'
import { type Path, pathText } from './path.ts'

/** Collects faults; one place is complained of once, and nothing that follows from it. */
export class FaultList {
  readonly #faults: Fault[] = []
  readonly #spoilt = new Set<string>()

  get any(): boolean {
    return this.#faults.length > 0
  }

  add(path: Path, fault: Omit<Fault, 'path'>): undefined {
    this.#faults.push({ path: pathText(path), ...fault })
    this.spoil(path)
  }

  /** Notes that a place has no value because of a fault elsewhere. */
  spoil(path: Path): void {
    this.#spoilt.add(pathText(path))
  }

  /** False for a place at or inside of which the value is known to be bad. */
  good(path: Path): boolean {
    return ![path, ...path.map((_, index) => path.slice(0, index))].some((place) =>
      this.#spoilt.has(pathText(place)),
    )
  }

  /** True where nothing at or inside of a place is known to be bad. */
  whole(path: Path): boolean {
    const text = pathText(path)
    return ![...this.#spoilt].some(
      (bad) => bad === text || (bad.startsWith(text) && /^[.[]/.test(bad.slice(text.length))),
    )
  }

  error(): ConfigFaults {
    return new ConfigFaults(this.#faults)
  }
}
