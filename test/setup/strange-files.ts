import { execFileSync } from 'node:child_process'
import { copyFileSync, renameSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './temp.ts'
import { tlsFixture } from './tls.ts'

/** Files of an authority that signed nothing, and a certificate of it with its key; `put` replaces some, as a mount does. */
export function strangeFiles() {
  const folder = temporaryFolder()
  const at = (name: string) => join(folder, name)
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const files = ['-subj', '/CN=stranger', '-keyout', at('client.key'), '-out', at('client.pem')]
  execFileSync('openssl', ['req', ...made, ...files], { stdio: 'ignore' })
  copyFileSync(at('client.pem'), at('ca.pem'))
  let count = 0
  return {
    at,
    settings: { caFile: at('ca.pem'), certFile: at('client.pem'), keyFile: at('client.key') },
    put(name: string, from = tlsFixture(name)): void {
      copyFileSync(from, at('next'))
      utimesSync(at('next'), 1, ++count)
      renameSync(at('next'), at(name))
    },
  }
}
