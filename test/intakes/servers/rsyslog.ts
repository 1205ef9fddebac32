import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tlsFixture } from '../../setup/tls.ts'
import { linesIn, startServer, takesConnections, type IntakeServer, type SinkSettings } from '../intake.ts'
import { overTls, syslogSink, withoutCertificate } from './syslog-sink.ts'

/** rsyslog over TCP; each message becomes a line of a file. */
export const rsyslogTcp: IntakeServer = {
  name: 'rsyslog over TCP',
  dropsDuplicates: false,
  withoutRights: {},
  start: () => startRsyslog('', { protocol: 'tcp' }),
}

/** rsyslog that takes messages only from those who show a certificate of its authority. */
export const rsyslogTls: IntakeServer = {
  name: 'rsyslog over TLS',
  dropsDuplicates: false,
  withoutRights: withoutCertificate,
  refusesWith: 'network',
  start: () =>
    startRsyslog(
      'StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/certvalid"',
      overTls,
    ),
}

async function startRsyslog(driver: string, sink: SinkSettings) {
  const { url, folder } = await startServer((port, home) => {
    const file = join(home, 'rsyslog.conf')
    writeFileSync(file, configuration(port, home, driver))
    return { command: 'rsyslogd', args: ['-n', '-i', join(home, 'pid'), '-f', file] }
  }, takesConnections)
  const messages = join(folder, 'messages')
  let places = 0
  return () => {
    const hostname = `place${++places}`
    return {
      url: url.replace('http:', 'tcp:'),
      sinkAt: (to: string) => syslogSink(to, hostname, sink),
      stored: async () => idsFrom(messages, hostname),
    }
  }
}

function configuration(port: number, folder: string, driver: string): string {
  return `global(
  workDirectory="${folder}" maxMessageSize="64k" parser.escapeControlCharactersOnReceive="off"
  defaultNetstreamDriverCAFile="${tlsFixture('ca.pem')}"
  defaultNetstreamDriverCertFile="${tlsFixture('server.pem')}"
  defaultNetstreamDriverKeyFile="${tlsFixture('server.key')}"
)
module(load="imtcp" ${driver})
template(name="message" type="string" string="%hostname% %msg%\\n")
ruleset(name="keep") { action(type="omfile" file="${folder}/messages" template="message") }
input(type="imtcp" port="${port}" address="127.0.0.1" ruleset="keep" supportOctetCountedFraming="on")
`
}

/** The id of an event is `externalId` of its CEF line. A line that is no message of the sink fails the test. */
function idsFrom(file: string, hostname: string): string[] {
  return linesIn(file)
    .map((line) => {
      const found = /^(\S+) +CEF:0\|.* externalId=(\S+)/.exec(line)
      if (found === null) throw new Error(`rsyslog read a message that was not sent: ${line}`)
      return found
    })
    .filter(([, from]) => from === hostname)
    .map(([, , id]) => id!)
}
