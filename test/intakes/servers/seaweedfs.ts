import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { freePort } from '../../setup/free-port.ts'
import { installedAt, startServer } from '../intake.ts'
import { bucketKey, lackingRights, type BucketServer, type Rights } from './bucket.ts'

export const seaweedFs: BucketServer = {
  name: 'SeaweedFS',
  async start() {
    const ports = await Promise.all(Array.from({ length: 7 }, freePort))
    const aws = new AwsClient({ ...bucketKey, service: 's3', region: 'us-east-1', retries: 0 })
    const { url, process } = await startServer(
      (port, folder) => {
        const config = join(folder, 's3.json')
        const { accessKeyId: accessKey, secretAccessKey: secretKey } = bucketKey
        const actions = ['Admin', 'Read', 'List', 'Tagging', 'Write']
        const limited = lackingRights.map((rights) => ({
          name: idOf(rights),
          credentials: [{ accessKey: idOf(rights), secretKey }],
          actions: rights.map((right) => actionOf[right]),
        }))
        const identities = [{ name: 'test', credentials: [{ accessKey, secretKey }], actions }, ...limited]
        writeFileSync(config, JSON.stringify({ identities }))
        mkdirSync(join(folder, 'data'))
        const flags =
          'master.port master.port.grpc volume.port volume.port.grpc filer.port filer.port.grpc s3.port.grpc'
        const more = flags.split(' ').map((flag, index) => `-${flag}=${ports[index]}`)
        const first = '-logtostderr=true -v=0 server -filer -ip=127.0.0.1 -ip.bind=127.0.0.1'
        const s3 = `-s3 -s3.port=${port} -s3.config=${config} -s3.autoCreateBucket=false -s3.port.iceberg=0 -s3.port.lance=0`
        const small = '-volume.max=200 -master.volumeSizeLimitMB=64 -master.telemetry=false'
        const places = `-dir=${join(folder, 'data')} -filer.localSocket=${join(folder, 'f.sock')}`
        const args = [...`${first} ${s3} ${small} ${places}`.split(' '), ...more]
        return { command: join(installedAt('seaweedfs'), 'weed'), args }
      },
      async (address) => (await aws.fetch(address)).ok,
    )
    return {
      url,
      process,
      async createBucket(name) {
        const { ok, status } = await aws.fetch(`${url}/${name}`, { method: 'PUT' })
        if (!ok) throw new Error(`SeaweedFS answered ${status}`)
      },
      keyWith: (_bucket, rights) => Promise.resolve(idOf(rights)),
    }
  },
}

const actionOf = { 's3:PutObject': 'Write', 's3:GetObject': 'Read', 's3:ListBucket': 'List' } as const

function idOf(rights: Rights): string {
  return rights.map((right) => actionOf[right]).join('-')
}
