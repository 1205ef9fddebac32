import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../../src/ports/process.ts'
import type { Store } from '../../../src/ports/store.ts'
import { openMemoryStore, openSqliteStore } from '../../setup/stores.ts'

/** The store of a run. One in a file can be set back to an older copy of itself. */
export interface StoreKeeper {
  store(): Store
  /** Makes the copy that a later `setBack` goes back to. */
  copy(): Promise<void>
  setBack(): Promise<void>
  close(): Promise<void>
}

const deadLetterMaxBytes = 1e6
/** A disk would make each commit wait; these runs are about what is written, not about when. */
const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export async function keepInMemory(clock: Clock): Promise<StoreKeeper> {
  const store = await openMemoryStore({ clock, deadLetterMaxBytes })
  const never = async () => undefined
  return { store: () => store, copy: never, setBack: never, close: () => store.close() }
}

export async function keepInFile(clock: Clock): Promise<StoreKeeper> {
  const folder = mkdtempSync(join(root, 'shieldlog-model-'))
  const path = join(folder, 'now', 'store.db')
  const open = () => openSqliteStore({ path, clock, deadLetterMaxBytes })
  let store = await open()
  let hasCopy = false
  /** A closed store has no log beside it, so its folder is all of it. */
  async function whileClosed(work: () => void): Promise<void> {
    await store.close()
    work()
    store = await open()
  }
  return {
    store: () => store,
    async copy() {
      await whileClosed(() => cpSync(join(folder, 'now'), join(folder, 'copy'), { recursive: true }))
      hasCopy = true
    },
    async setBack() {
      if (!hasCopy) return
      await whileClosed(() => {
        rmSync(join(folder, 'now'), { recursive: true })
        cpSync(join(folder, 'copy'), join(folder, 'now'), { recursive: true })
      })
    },
    async close() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}
