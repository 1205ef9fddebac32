import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { request } from 'undici'
import { findIntake } from '../setup/available.ts'
import { freePort } from '../setup/free-port.ts'
import { startProcess } from '../setup/processes.ts'
import { temporaryFolder } from '../setup/temp.ts'
import { waitFor } from '../setup/wait-for.ts'

export type SinkSettings = Readonly<Record<string, unknown>>

/** What is shipped to one index, tenant or file of a server, apart from all else in it. */
export interface Intake {
  /** Where the server listens, as http://… or tcp://…; a test puts a relay in between. */
  readonly url: string
  /** The sink's settings besides its name, for this address. */
  sinkAt(url: string): SinkSettings
  /** The ids of the events that the server has, each as often as it has the event. */
  stored(): Promise<string[]>
}

/** A server that the tests ship to. */
export interface IntakeServer {
  readonly name: string
  /** True where it drops an event that it has. */
  readonly dropsDuplicates: boolean
  /** Changes of the sink's settings with which the server takes nothing from it, by what is wrong. */
  readonly withoutRights: Readonly<Record<string, SinkSettings>>
  /** The error of the sink then: `network` or `tls` where the protocol has no answer to say more. */
  readonly refusesWith?: 'network' | 'tls'
  /** Starts the server once for a file; each call of the result is a fresh place in it. */
  start(): Promise<() => Intake>
}

/** The folder that the server's install script made. Throws where it was not run. */
export function installedAt(name: string): string {
  const folder = findIntake(name)
  if (folder === undefined) throw new Error(`${name} is not installed: bash test/intakes/install.sh ${name}`)
  return folder
}

export interface ServerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a server on a free port with a folder of its own; resolves once `isReady` does not throw and returns true. */
export async function startServer(
  commandFor: (port: number, folder: string, otherPort: number) => ServerCommand,
  isReady: (url: string) => Promise<boolean>,
) {
  const [port, otherPort] = [await freePort(), await freePort()]
  const folder = join(temporaryFolder(), 'intake')
  mkdirSync(folder)
  const { command, args, env } = commandFor(port, folder, otherPort)
  const child = startProcess(command, args, { mustEnd: false, keyboard: true, ...(env && { env }) })
  const url = `http://127.0.0.1:${port}`
  const output = () => `${child.stdout()}${child.stderr()}`
  await waitFor(async () => !child.isRunning() || (await isReady(url).catch(() => false)), {
    timeoutMs: 120_000,
    everyMs: 200,
    what: () => `${command} to be ready: ${output()}`,
  })
  if (!child.isRunning()) throw new Error(`${command} ended: ${output()}`)
  return { url, port, folder, process: child }
}

/** Whether something listens at an address such as tcp://127.0.0.1:514. */
export function takesConnections(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** The lines of a file that a server writes; none before it is there. */
export function linesIn(file: string, encoding: BufferEncoding = 'utf8'): string[] {
  return existsSync(file) ? readFileSync(file, encoding).split('\n').slice(0, -1) : []
}

interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** Asks a server something of its own, such as how many events it has. */
export async function ask(url: string, { method = 'GET', headers = {}, body }: Question = {}) {
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await request(url, {
    method,
    headers: { ...json, ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.statusCode, text: await response.body.text() }
}

/** Asks and expects success; the answer as JSON. */
export async function askJson(url: string, question?: Question): Promise<unknown> {
  const { status, text } = await ask(url, question)
  if (status >= 300) throw new Error(`${url} answered ${status}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
