import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { AwsClient } from 'aws4fetch'
import { installedAt, startServer } from '../intake.ts'
import { bucketKey, type BucketServer } from './bucket.ts'

/** It answers 412 before it has read a large body, and closes the connection. */
export const versitygw: BucketServer = {
  name: 'versitygw',
  async start() {
    const command = join(installedAt('versitygw'), 'versitygw')
    const { url, folder, process } = await startServer(
      (port, home) => {
        const [root, metadata] = [join(home, 'root'), join(home, 'metadata')]
        mkdirSync(root)
        for (const each of [metadata, join(home, 'users'), join(home, 'versions')]) mkdirSync(each)
        const env = {
          ROOT_ACCESS_KEY_ID: bucketKey.accessKeyId,
          ROOT_SECRET_ACCESS_KEY: bucketKey.secretAccessKey,
        }
        const own = `--port 127.0.0.1:${port} --keep-alive --quiet --iam-dir ${join(home, 'users')} --iam-cache-disable`
        const posix = `posix --versioning-dir ${join(home, 'versions')} --sidecar ${metadata} ${root}`
        const args = `${own} ${posix}`.split(' ')
        return { command, args, env }
      },
      async (address) => (await fetch(address)).status > 0,
    )
    return {
      url,
      process,
      createBucket(name) {
        mkdirSync(join(folder, 'root', name))
        return Promise.resolve()
      },
      async keyWith(bucket, rights) {
        const id = `user-of-${bucket}`
        const { accessKeyId, secretAccessKey } = bucketKey
        const root = ['--access', accessKeyId, '--secret', secretAccessKey, '--endpoint-url', url]
        const user = ['--access', id, '--secret', secretAccessKey, '--role', 'user']
        await promisify(execFile)(command, ['admin', ...root, 'create-user', ...user])
        const arn = `arn:aws:s3:::${bucket}`
        const statements = rights.map((Action) => ({
          Effect: 'Allow',
          Principal: [id],
          Action,
          Resource: Action === 's3:ListBucket' ? arn : `${arn}/*`,
        }))
        const aws = new AwsClient({ ...bucketKey, service: 's3', region: 'us-east-1', retries: 0 })
        const body = JSON.stringify({ Version: '2012-10-17', Statement: statements })
        const answer = await aws.fetch(`${url}/${bucket}?policy`, { method: 'PUT', body })
        if (!answer.ok) throw new Error(`versitygw answered ${answer.status}: ${await answer.text()}`)
        return id
      },
    }
  },
}
