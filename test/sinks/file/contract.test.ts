import { mkdir, open, readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { sinkContract } from '../../contract/sink.contract.ts'
import { createWorkbench } from './workbench.ts'

sinkContract('file', { isTransactional: true, canFail: true, canHang: true }, async (gate) => {
  const bench = await createWorkbench()
  /** No real disk hangs when it is told to. */
  const openFile: typeof open = async (...args) => {
    const handle = await open(...args)
    const datasync = handle.datasync.bind(handle)
    handle.datasync = async () => {
      await gate.pass()
      await datasync()
    }
    return handle
  }
  return {
    sink: bench.sink({}, { openFile }),
    async received() {
      const zones = (await readdir(bench.path).catch(() => [])).filter((name) =>
        name.startsWith('shield_zone='),
      )
      return (
        await Promise.all(zones.map((zone) => bench.ids(Number(zone.replace('shield_zone=', '')))))
      ).flat()
    },
    /** A link where the zone's folder belongs. */
    async fail() {
      const zone = join(bench.path, 'shield_zone=101')
      await mkdir(bench.path, { recursive: true })
      await symlink('/tmp', zone)
      return () => rm(zone)
    },
    dispose: () => bench.dispose(),
  }
})
