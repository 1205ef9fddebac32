import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { installedAt, startServer } from '../intake.ts'
import { bucketKey, type BucketServer } from './bucket.ts'

/** It answers 412 before it has read a large body, and closes the connection. */
export const versitygw: BucketServer = {
  name: 'versitygw',
  async start() {
    const { url, folder } = await startServer(
      (port, home) => {
        const [root, metadata] = [join(home, 'root'), join(home, 'metadata')]
        mkdirSync(root)
        mkdirSync(metadata)
        const env = {
          ROOT_ACCESS_KEY_ID: bucketKey.accessKeyId,
          ROOT_SECRET_ACCESS_KEY: bucketKey.secretAccessKey,
        }
        const args = [
          '--port',
          `127.0.0.1:${port}`,
          '--keep-alive',
          '--quiet',
          'posix',
          '--sidecar',
          metadata,
          root,
        ]
        return { command: join(installedAt('versitygw'), 'versitygw'), args, env }
      },
      async (address) => (await fetch(address)).status > 0,
    )
    return {
      url,
      createBucket(name) {
        mkdirSync(join(folder, 'root', name))
        return Promise.resolve()
      },
    }
  },
}
