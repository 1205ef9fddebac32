import { readFileSync } from 'node:fs'
import { projectFolder } from './project-folder.ts'

/** The path of a key or certificate of the tests. */
export const tlsFixture = (name: string) => `${projectFolder}test/fixtures/tls/${name}`

export const pem = (name: string) => readFileSync(tlsFixture(name), 'utf8')
