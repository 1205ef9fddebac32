import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Catalogue } from '../ports/catalogue.ts'

/** Two lists of one that holds the checkpoints of live and of temporary streams. */
export function separateResends(
  list: () => Promise<readonly Checkpoint[]>,
): Pick<Catalogue, 'checkpoints' | 'resendCheckpoints'> {
  const listOf = async (isTemporary: boolean) =>
    (await list()).filter(({ stream }) => (stream.resend !== undefined) === isTemporary)
  return { checkpoints: () => listOf(false), resendCheckpoints: () => listOf(true) }
}
