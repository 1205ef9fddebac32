import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { buildCommit, buildHolder, buildStream } from '../../contract/checkpoint-store/builders.ts'
import { projectFolder } from '../../setup/project-folder.ts'
import { redisServerAvailable, startRedis } from '../../setup/redis.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { clientOf, openAt, refused, stateAt } from './opening.ts'

/** A second port of the server: the first one stays for the test's own commands. */
async function openTlsPort(client: Redis): Promise<number> {
  return await waitFor(
    async () => {
      const port = randomInt(15_000, 30_000)
      await client.config('SET', 'tls-port', String(port))
      return port
    },
    { what: 'a free port' },
  )
}

describe.skipIf(!redisServerAvailable())('over TLS', () => {
  const file = (name: string) => `${projectFolder}test/fixtures/tls/${name}`
  const pem = (name: string) => readFileSync(file(name), 'utf8')
  const tls = ['--tls-cert-file', file('server.pem'), '--tls-key-file', file('server.key')]
  const secured = { ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') }

  it('ships with a client certificate, and reports an invalid certificate', async () => {
    const args = ['--appendonly', 'yes', ...tls, '--tls-ca-cert-file', file('ca.pem')]
    const server = await startRedis({ args })
    const port = await openTlsPort(clientOf(server.url))
    const state = stateAt(`redis://127.0.0.1:${port}`, { tls: secured })
    const store = await openAt(state)
    const { fence } = await store.ledger.take(buildStream(), buildHolder('one'))
    expect(await store.ledger.commit(buildCommit(buildStream(), fence, 0))).toBe('done')

    const stranger = { ca: undefined, cert: undefined, key: undefined }
    await expect(openAt({ ...state, tls: stranger })).rejects.toMatchObject(refused(/caFile/))
    const { tls: _, ...plain } = state
    await expect(openAt(plain)).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})
