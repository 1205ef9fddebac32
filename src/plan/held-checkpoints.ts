import type { Checkpoint } from '../domain/checkpoint.ts'
import { routeKey } from '../domain/stream.ts'
import type { Stream } from '../domain/stream.ts'

const none: readonly Checkpoint[] = []

/** The listed checkpoints by route. A list that follows another one costs what has changed in between. */
export class HeldCheckpoints {
  #listed: readonly Checkpoint[] = []
  #byRoute = new Map<string, Checkpoint[]>()

  /** Replaces the list by a newer one; returns the routes with other checkpoints, by `zone/sink`. */
  update(listed: readonly Checkpoint[]): ReadonlySet<string> {
    const before = this.#listed
    this.#listed = listed
    const changed = new Set<string>()
    // Stores list in an order that keeps, new streams last.
    for (let index = 0; index < before.length; index++) {
      const [old, now] = [before[index]!, listed[index]]
      if (old === now) continue
      if (now === undefined || !isSame(old.stream, now.stream)) return changed.union(this.#rebuild())
      const held = this.#byRoute.get(keyOf(now))!
      held[held.indexOf(old)] = now
      changed.add(keyOf(now))
    }
    for (const added of listed.slice(before.length)) {
      this.#add(added)
      changed.add(keyOf(added))
    }
    return changed
  }

  of(route: string): readonly Checkpoint[] {
    return this.#byRoute.get(route) ?? none
  }

  #rebuild(): ReadonlySet<string> {
    const before = this.#byRoute
    this.#byRoute = new Map()
    for (const each of this.#listed) this.#add(each)
    const all = new Set([...before.keys(), ...this.#byRoute.keys()])
    for (const key of all) if (isEqual(before.get(key) ?? none, this.of(key))) all.delete(key)
    return all
  }

  #add(checkpoint: Checkpoint): void {
    const held = this.#byRoute.get(keyOf(checkpoint))
    if (held === undefined) this.#byRoute.set(keyOf(checkpoint), [checkpoint])
    else held.push(checkpoint)
  }
}

function keyOf({ stream }: Checkpoint): string {
  return routeKey(stream.zone, stream.sink)
}

function isSame(left: Stream, right: Stream): boolean {
  return left.zone === right.zone && left.day === right.day && left.sink === right.sink
}

function isEqual(left: readonly Checkpoint[], right: readonly Checkpoint[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index])
}
