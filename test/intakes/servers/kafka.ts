import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Admin, Consumer } from '@platformatic/kafka'
import { freePort } from '../../setup/free-port.ts'
import { startProcess, type TestProcess } from '../../setup/processes.ts'
import { temporaryFolder } from '../../setup/temp.ts'
import { waitFor } from '../../setup/wait-for.ts'
import { pem, tlsFixture } from '../../setup/tls.ts'
import { installedAt, takesConnections } from '../intake.ts'

const certified = `User:${new X509Certificate(pem('client.pem')).subject.split('\n').toReversed().join(',')}`
export const password = 'An-intake-password-1'

/**
 * One broker: without login, with SASL PLAIN for users that need rights, and over TLS with every other mechanism or a
 * certificate of the client.
 */
export class KafkaBroker {
  readonly plain: string
  readonly withLogin: string
  readonly overTls: string
  readonly withCertificate: string
  /** It gives an address that cannot be looked up. */
  readonly advertised: string
  readonly #folder: string
  readonly #args: readonly string[]
  #process: TestProcess | undefined
  #topics = 0

  private constructor(ports: readonly number[]) {
    const [plain, login, controller, secured, certified, advertised] = ports
    this.plain = `127.0.0.1:${plain}`
    this.withLogin = `127.0.0.1:${login}`
    this.overTls = `127.0.0.1:${secured}`
    this.withCertificate = `127.0.0.1:${certified}`
    this.advertised = `127.0.0.1:${advertised}`
    this.#folder = join(temporaryFolder(), 'kafka')
    mkdirSync(this.#folder)
    const file = join(this.#folder, 'server.properties')
    const keystore = join(this.#folder, 'server.pem')
    writeFileSync(keystore, pem('server.key') + pem('server.pem'))
    const users = ['shipper', 'reader'].map((name) => `user_${name}="${password}"`).join(' ')
    writeFileSync(
      file,
      `process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:${controller}
listeners=PLAINTEXT://127.0.0.1:${plain},SASL_PLAINTEXT://127.0.0.1:${login},SECURED://127.0.0.1:${secured},CERTIFIED://127.0.0.1:${certified},ADVERTISED://127.0.0.1:${advertised},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=PLAINTEXT://127.0.0.1:${plain},SASL_PLAINTEXT://127.0.0.1:${login},SECURED://127.0.0.1:${secured},CERTIFIED://127.0.0.1:${certified},ADVERTISED://kafka-0.internal.invalid:9092
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SECURED:SASL_SSL,CERTIFIED:SSL,ADVERTISED:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.secured.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.secured.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secured.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secured.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
ssl.keystore.type=PEM
ssl.keystore.location=${keystore}
ssl.truststore.type=PEM
ssl.truststore.location=${tlsFixture('ca.pem')}
listener.name.certified.ssl.client.auth=required
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required ${users};
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs=${this.#folder}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
`,
    )
    this.#args = ['-Xmx256m', '-XX:+UseSerialGC', '-cp', `${installedAt('kafka')}/lib/*`]
    if (existsSync(join(this.#folder, 'log'))) return
    const format = `kafka.tools.StorageTool format --standalone -t 5L6g3nShT-eMCtK--X86sw -c ${file}`
    const users256 = `--add-scram SCRAM-SHA-256=[name=shipper,password=${password}]`
    const users512 = users256.replace('256', '512')
    const args = [...this.#args, ...`${format} ${users256} ${users512}`.split(' ')]
    execFileSync('java', args, { stdio: 'ignore' })
  }

  static async start(): Promise<KafkaBroker> {
    const broker = new KafkaBroker(await Promise.all(Array.from({ length: 6 }, freePort)))
    await broker.start()
    return broker
  }

  /** Starts it, also after it was killed. */
  async start(): Promise<void> {
    const args = [...this.#args, 'kafka.Kafka', join(this.#folder, 'server.properties')]
    const child = startProcess('java', args, { mustEnd: false, keyboard: true })
    this.#process = child
    await waitFor(async () => !child.isRunning() || (await takesConnections(`tcp://${this.plain}`)), {
      timeoutMs: 120_000,
      everyMs: 200,
      what: () => `Kafka to be ready: ${child.stdout()}${child.stderr()}`,
    })
    if (!child.isRunning()) throw new Error(`Kafka ended: ${child.stdout()}${child.stderr()}`)
  }

  async kill(): Promise<void> {
    await this.#process!.kill('SIGKILL')
  }

  /** A topic that no other test has, on which the user shipper has all rights, and reader may read. */
  async freshTopic(
    configs: Readonly<Record<string, string>> = {},
    name = `waf-${++this.#topics}`,
  ): Promise<string> {
    await this.#administer(async (admin) => {
      await admin.createTopics({
        topics: [name],
        partitions: 3,
        replicas: 1,
        configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
      })
      const rule = {
        resourceType: 2,
        resourceName: name,
        resourcePatternType: 3,
        host: '*',
        permissionType: 3,
      } as const
      await admin.createAcls({
        creations: [
          { ...rule, principal: 'User:shipper', operation: 4 },
          { ...rule, principal: certified, operation: 4 },
          { ...rule, principal: 'User:reader', operation: 3 },
        ],
      })
    })
    return name
  }

  /** Limits what a client writes; undefined ends the limit. */
  async limit(clientId: string, bytesPerSecond: number | undefined): Promise<void> {
    const key = 'producer_byte_rate'
    const op =
      bytesPerSecond === undefined
        ? ({ key, remove: true } as const)
        : ({ key, value: bytesPerSecond, remove: false } as const)
    const entities = [{ entityType: 'client-id' as const, entityName: clientId }]
    await this.#administer(async (admin) => {
      await admin.alterClientQuotas({ entries: [{ entities, ops: [op] }] })
    })
  }

  /** How many messages a topic has: without reading them, so at once. */
  async countIn(topic: string): Promise<number> {
    return await this.#consume(topic, (_, count) => Promise.resolve(count))
  }

  /** All messages of a topic, partition by partition. */
  async messagesIn(topic: string): Promise<StoredMessage[]> {
    return await this.#consume(topic, async (consumer, count) => {
      const messages: StoredMessage[] = []
      if (count === 0) return messages
      const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false })
      for await (const { key, value, headers, timestamp, partition } of stream) {
        const id = [...headers].find(([name]) => String(name) === 'shieldlog-id')?.[1]
        messages.push({ key: String(key), value: String(value), id: String(id), timestamp, partition })
        if (messages.length === count) break
      }
      return messages
    })
  }

  async #consume<T>(topic: string, work: (consumer: Consumer, count: number) => Promise<T>): Promise<T> {
    const groupId = `test-${Math.random()}`
    const consumer = new Consumer({ clientId: 'test', groupId, bootstrapBrokers: [this.plain] })
    try {
      const ends = await consumer.listOffsets({ topics: [topic] })
      const count = (ends.get(topic) ?? []).reduce((sum, end) => sum + Number(end), 0)
      return await work(consumer, count)
    } finally {
      await consumer.close(true)
    }
  }

  async #administer(work: (admin: Admin) => Promise<void>): Promise<void> {
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [this.plain] })
    try {
      await work(admin)
    } finally {
      await admin.close()
    }
  }
}

export interface StoredMessage {
  readonly key: string
  readonly value: string
  readonly id: string
  readonly timestamp: bigint
  readonly partition: number
}
