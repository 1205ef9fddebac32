import type { Gaps } from './gaps.ts'
import { listOf, numberOf, textOf } from './answer.ts'
import type { Keys, Place } from './keys.ts'
import type { Link } from './link.ts'

/** After so many seconds whoever announced a commit has completed it, or is dead: longer than any call takes. */
const deadAfterSeconds = 60

/**
 * Gaps and dead letters of a commit lie with its stream, since only there they can be written in one step with it; the
 * lists of the whole store lie elsewhere. So the commit is announced first and completed afterwards, by whoever finds the
 * announcement.
 */
export interface Announcements {
  /** Resolves to the bytes that the dead letters of all other streams take. */
  announce(place: Place, letterBytes: number): Promise<number>
  /** Brings the lists of the store up to the stream. Safe at any time. */
  complete(place: Place): Promise<void>
  /** Completes what others announced and left undone; of what is under way, what is there already. */
  completeAll(): Promise<void>
}

export function createAnnouncements(link: Link, keys: Keys, gaps: Gaps): Announcements {
  async function moveGaps(place: Place): Promise<void> {
    const fields = await link.run((client) => client.hgetall(place.gaps))
    const names = Object.keys(fields)
    if (names.length === 0) return
    await gaps.addFields(fields)
    await link.run((client) => client.hdel(place.gaps, ...names))
  }

  async function complete(place: Place): Promise<void> {
    await moveGaps(place)
    const [version, bytes] = await link.run((client) => client.hmget(place.letterTotals, 'v', 'bytes'))
    await link.script('count-letters', [keys.letters], [place.stream, version ?? 0, bytes ?? 0, 1])
    await link.run((client) => client.zrem(keys.announced, place.stream))
  }

  return {
    async announce(place, letterBytes) {
      const both = [keys.announced, keys.letters]
      return numberOf(await link.script('announce-commit', both, [place.stream, letterBytes]))
    },
    complete,
    async completeAll() {
      const found = listOf(await link.script('list-announced', [keys.announced], [deadAfterSeconds]))
      for (let index = 0; index < found.length; index += 2) {
        const place = keys.place(textOf(found[index]))
        // One that is under way keeps its announcement, since its commit may yet come.
        if (textOf(found[index + 1]) === '1') await complete(place)
        else await moveGaps(place)
      }
    },
  }
}
