import { mkdir, open, readdir, rm, symlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { sinkContract } from '../../contract/sink.contract.ts'
import { idOf, readParts, streamOf } from './samples.ts'
import { createWorkbench } from './workbench.ts'

sinkContract('file', { isTransactional: true, canFail: true, canHang: true }, async () => {
  const bench = await createWorkbench()
  const gate: Gate = {}
  const sink = bench.sink({}, { openFile: async (...args) => hangable(await open(...args), gate) })
  return {
    sink,
    async received() {
      const ids: string[] = []
      const zones = await readdir(bench.path).catch(() => [])
      for (const zone of zones.filter((name) => name.startsWith('zone=')))
        for await (const line of readParts(bench.path, Number(zone.slice(5)), streamOf(sink, 0).day))
          ids.push(idOf(line))
      return ids
    },
    /** A link where the zone's folder belongs. */
    async fail() {
      const zone = join(bench.path, 'zone=101')
      await mkdir(bench.path, { recursive: true })
      await symlink('/tmp', zone)
      return { repair: () => rm(zone) }
    },
    hang() {
      const reached = Promise.withResolvers<void>()
      const mended = Promise.withResolvers<void>()
      gate.wait = () => {
        reached.resolve()
        return mended.promise
      }
      return Promise.resolve({
        reached: reached.promise,
        async repair() {
          delete gate.wait
          mended.resolve()
          await mended.promise
        },
      })
    },
    dispose: () => bench.dispose(),
  }
})

interface Gate {
  wait?: () => Promise<void>
}

/** No real disk hangs when it is told to. */
function hangable(handle: FileHandle, gate: Gate): FileHandle {
  const datasync = handle.datasync.bind(handle)
  handle.datasync = async () => {
    await gate.wait?.()
    await datasync()
  }
  return handle
}
