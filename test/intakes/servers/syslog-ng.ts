import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tlsFixture } from '../../setup/tls.ts'
import {
  installedAt,
  linesIn,
  startServer,
  takesConnections,
  type IntakeServer,
  type SinkSettings,
} from '../intake.ts'
import { overTls, syslogSink, withoutCertificate } from './syslog-sink.ts'

/** syslog-ng over TCP; each message becomes a line of a file. */
export const syslogNgTcp: IntakeServer = {
  name: 'syslog-ng over TCP',
  dropsDuplicates: false,
  withoutRights: {},
  start: async () => {
    const server = await startSyslogNg()
    return placesOf(server, server.octets, { protocol: 'tcp' })
  },
}

/** syslog-ng that takes messages only from those who show a certificate of its authority. */
export const syslogNgTls: IntakeServer = {
  name: 'syslog-ng over TLS',
  dropsDuplicates: false,
  withoutRights: withoutCertificate,
  refusesWith: 'tls',
  start: async () => {
    const server = await startSyslogNg('tls')
    return placesOf(server, server.octets, overTls)
  },
}

export interface Message {
  readonly hostname: string
  readonly priority: string
  readonly program: string
  readonly time: string
  readonly text: string
}

type SyslogNg = Awaited<ReturnType<typeof startSyslogNg>>

/** Takes messages with octet counting on one port, and lines on another. */
export async function startSyslogNg(transport: 'tcp' | 'tls' = 'tcp') {
  const installed = installedAt('syslog-ng')
  const libraries = `${installed}/usr/lib/x86_64-linux-gnu:${installed}/usr/lib/syslog-ng`
  let [octets, lines] = [0, 0]
  const { folder } = await startServer(
    (port, home, otherPort) => {
      ;[octets, lines] = [port, otherPort]
      const file = join(home, 'syslog-ng.conf')
      writeFileSync(file, configuration(transport, octets, lines, home))
      const own = [
        '-f',
        file,
        '-R',
        join(home, 'state'),
        '-c',
        join(home, 'control'),
        '-p',
        join(home, 'pid'),
      ]
      const modules = `--module-path=${installed}/usr/lib/syslog-ng/3.38`
      return {
        command: `${installed}/usr/sbin/syslog-ng`,
        args: ['-F', '--no-caps', modules, ...own],
        env: { LD_LIBRARY_PATH: libraries },
      }
    },
    async (url) => (await takesConnections(url)) && (await takesConnections(`tcp://127.0.0.1:${lines}`)),
  )
  const messages = (): Message[] =>
    linesIn(join(folder, 'messages')).map((line) => {
      const [, hostname, priority, program, time, text] = /^(\S+) (\d+) (\S+) (\S+) (.*)$/s.exec(line)!
      return { hostname: hostname!, priority: priority!, program: program!, time: time!, text: text! }
    })
  return { octets, lines, messages }
}

let places = 0

function placesOf({ messages }: SyslogNg, port: number, sink: SinkSettings) {
  return () => {
    const hostname = `place${++places}`
    return {
      url: `tcp://127.0.0.1:${port}`,
      sinkAt: (to: string) => syslogSink(to, hostname, sink),
      stored: async () => {
        const own = messages().filter((message) => message.hostname === hostname)
        return own.map(({ text }) => / externalId=(\S+)/.exec(text)![1]!)
      },
    }
  }
}

function configuration(transport: string, octets: number, lines: number, folder: string): string {
  const files = `key-file("${tlsFixture('server.key')}") cert-file("${tlsFixture('server.pem')}") ca-file("${tlsFixture('ca.pem')}")`
  const tls = transport === 'tls' ? `tls(${files} peer-verify(required-trusted))` : ''
  const place = (port: number) => `ip("127.0.0.1") port(${port}) transport("${transport}") ${tls}`
  return `@version: 3.38
options { log-msg-size(65536); keep-hostname(yes); keep-timestamp(yes); frac-digits(6); time-zone("UTC"); };
source octets { syslog(${place(octets)}); };
source lines { network(${place(lines)} flags(syslog-protocol)); };
destination file {
  file("${folder}/messages" template("$HOST $PRI $PROGRAM $S_ISODATE $MSG\\n") flush-lines(1));
};
log { source(octets); source(lines); destination(file); };
`
}
