import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exitCodes } from '../src/commands/command.ts'
import { loadConfig } from '../src/config/load.ts'
import { fileShape } from '../src/config/file-shape.ts'
import { settingsOf } from '../src/config/shape.ts'
import { projectFolder } from './setup/project-folder.ts'
import { startCli, startProcess } from './setup/processes.ts'
import { runCommand } from './setup/run-command.ts'
import { temporaryFolder } from './setup/temp.ts'
import { parseUnit } from './systemd/unit-file.ts'

const text = readFileSync(join(projectFolder, 'config/systemd/shieldlog.service'), 'utf8')
const unit = parseUnit(text)
const service = unit.get('Service') ?? []

function valuesOf(name: string): string[] {
  return service.filter(([each]) => each === name).map(([, value]) => value)
}

function environmentIn(credentials: string): Record<string, string> {
  const routes = valuesOf('Environment').map((route) => route.replaceAll('%d', () => credentials).split('='))
  return Object.fromEntries(routes) as Record<string, string>
}

test('permanent errors are not followed by a restart', () => {
  const codes = valuesOf('RestartPreventExitStatus')[0]?.split(' ').map(Number)
  expect(codes).toEqual([exitCodes.usage, exitCodes.configuration])
})

describe('the process that it starts', () => {
  const words = valuesOf('ExecStart')[0]?.split(' ') ?? []
  const place = words.findIndex((word) => word.endsWith('/shieldlog'))
  const [command, args] = [words.slice(0, place + 1), words.slice(place + 1)]

  test('reads its key from its credentials, and writes only below its state directory', () => {
    const credentials = temporaryFolder()
    const [credential = '', source = ''] = valuesOf('LoadCredential')[0]?.split(':') ?? []
    writeFileSync(join(credentials, credential), 'the-key\n')
    expect(source).toMatch(/^\/etc\/shieldlog\//)
    const known = settingsOf(fileShape).map(({ environment }) => environment)
    const env = environmentIn(credentials)
    for (const name of Object.keys(env)) if (name.startsWith('SHIELDLOG_')) expect(known).toContain(name)
    // The example keeps its key in the environment; what the unit says comes before it.
    const { config, warnings } = loadConfig({
      argv: { config: join(projectFolder, 'config/examples/file.yaml') },
      env,
    })
    expect(warnings).toEqual([])
    expect(config.accounts[0]?.accessKey.reveal()).toBe('the-key')
    const [place] = valuesOf('WorkingDirectory')
    expect(place).toBe(`/var/lib/${valuesOf('StateDirectory')[0]}`)
    expect(config.state).toMatchObject({ path: expect.stringMatching(`^${place}/`) })
    expect(config.sinks).toMatchObject([{ path: expect.stringMatching(`^${place}/`) }])
  })

  test('reads the token of a SIEM from a second credential', () => {
    const folder = '/run/credentials/shieldlog.service'
    const [, more] = /^#(LoadCredential=siem-token:\/etc\/shieldlog\/siem-token)$/m.exec(text) ?? []
    expect(parseUnit(`[Service]\n${more}\n`).get('Service')).toEqual([
      ['LoadCredential', 'siem-token:/etc/shieldlog/siem-token'],
    ])
    const credentials = temporaryFolder()
    writeFileSync(join(credentials, 'siem-token'), 'the-token\n')
    writeFileSync(join(credentials, 'access-key'), 'the-key\n')
    const [, reference = ''] = /write (\$\{file:\S+\}) in the settings/.exec(text) ?? []
    expect(reference).toContain(`${folder}/siem-token`)
    const page = readFileSync(join(projectFolder, 'docs/install.md'), 'utf8')
    expect(page).toContain(reference)
    const file = join(credentials, 'shieldlog.yaml')
    const authorization = `Bearer ${reference.replace(folder, credentials)}`
    const sink = { name: 'siem', type: 'http', url: 'https://siem.example/in' }
    writeFileSync(
      file,
      JSON.stringify({ zones: [101], sinks: [{ ...sink, headers: { Authorization: authorization } }] }),
    )
    const { config } = loadConfig({ argv: { config: file }, env: environmentIn(credentials) })
    const [siem] = config.sinks
    if (siem?.type !== 'http' || !('headers' in siem)) throw new Error('no HTTP sink')
    expect(siem.headers['Authorization']?.reveal()).toBe('Bearer the-token')
  })

  test('is a valid command, and ends with 78 if its configuration is missing', async () => {
    expect(command.filter((word) => !word.startsWith('--'))).toEqual([
      '/usr/bin/env',
      'node',
      '/usr/local/bin/shieldlog',
    ])
    const folder = temporaryFolder()
    const missing = join(folder, 'shieldlog.yaml')
    const given = args.map((each) => (each === '/etc/shieldlog/shieldlog.yaml' ? missing : each))
    expect(given).toContain(missing)
    const child = startCli(given, { cwd: folder, env: environmentIn(folder) })
    expect(await child.exited).toEqual({ code: exitCodes.configuration, signal: null })
    expect(child.stderr()).toContain('(shieldlog.yaml): cannot be read')
  })
})

test('systemd reports no error in it, if it is installed', async () => {
  const version = await systemdVersion()
  // Older ones do not know every directive.
  if (version === undefined || version < 250) return
  const folder = temporaryFolder()
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'shieldlog.service')
  // Only a program that is there is taken.
  writeFileSync(file, text.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))
  const { stdout, stderr } = await runCommand('systemd-analyze', ['verify', file])
  expect(stdout + stderr).not.toContain('shieldlog.service')
  // Of 100, in tenths: 20 is what it calls good.
  await runCommand('systemd-analyze', ['security', '--offline=true', '--threshold=20', '--no-pager', file])
})

describe('a command beside the service', () => {
  const words = ['backfill', '--from', 'yesterday', '--to', 'yes terday', '$HOME %d']

  /** What the wrapper asks of systemd, which does not run here. */
  async function askedFor(dynamicUser: string): Promise<string[]> {
    const folder = temporaryFolder()
    const place = (name: string, script: string) => {
      writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
      chmodSync(join(folder, name), 0o755)
    }
    place(
      'systemctl',
      `test "$*" = 'show --property=DynamicUser --value shieldlog.service' && echo ${dynamicUser}`,
    )
    place('systemd-run', 'for each in "$@"; do printf "%s\\n" "$each"; done')
    const child = startProcess('sh', [join(projectFolder, 'config/systemd/shieldlog-command'), ...words], {
      env: { PATH: `${folder}:${process.env['PATH']}`, TERM: 'xterm' },
    })
    expect(await child.exited, child.stderr()).toMatchObject({ code: 0 })
    return child.stdout().trimEnd().split('\n')
  }

  const optionsOf = (asked: readonly string[], name: string) =>
    asked.flatMap((each) => (each.startsWith(`--${name}=`) ? [each.slice(name.length + 3)] : []))

  test.each(['yes', 'no'])('has what the service has, with DynamicUser=%s', async (dynamicUser) => {
    const asked = await askedFor(dynamicUser)
    expect(asked.slice(-1 - words.length)).toEqual(['/usr/local/bin/shieldlog', ...words])
    const properties = optionsOf(asked, 'property')
    for (const name of [
      'StateDirectory',
      'StateDirectoryMode',
      'WorkingDirectory',
      'UMask',
      'LoadCredential',
    ])
      expect(properties).toEqual(expect.arrayContaining(valuesOf(name).map((value) => `${name}=${value}`)))
    // The name that systemd gives to the dynamic user of shieldlog.service.
    expect(properties).toContain('User=shieldlog')
    expect(properties).toContain(`DynamicUser=${dynamicUser}`)
    const [unitName = ''] = optionsOf(asked, 'unit')
    const given = new Map(optionsOf(asked, 'setenv').map((each) => each.split('=') as [string, string]))
    const own = Object.entries(environmentIn(`/run/credentials/${unitName}.service`))
    for (const [name, value] of own) if (name.startsWith('SHIELDLOG_')) expect(given.get(name)).toBe(value)
    expect(valuesOf('ExecStart')[0]).toContain(` ${given.get('SHIELDLOG_CONFIG')}`)
  })

  test('is a unit in which systemd reports no error, if it is installed', async () => {
    const version = await systemdVersion()
    if (version === undefined || version < 250) return
    const asked = await askedFor('yes')
    const file = join(temporaryFolder(), `${optionsOf(asked, 'unit')[0]}.service`)
    const lines = ['[Service]', `ExecStart=${process.execPath}`, ...optionsOf(asked, 'property')]
    const environment = optionsOf(asked, 'setenv').map((each) => `Environment=${each}`)
    writeFileSync(file, `${[...lines, ...environment].join('\n')}\n`)
    const { stdout, stderr } = await runCommand('systemd-analyze', ['verify', file])
    expect(stdout + stderr).not.toContain('shieldlog-command')
  })
})

async function systemdVersion(): Promise<number | undefined> {
  const child = startProcess('systemd-analyze', ['--version'])
  const { code } = await child.exited.catch(() => ({ code: null }))
  const number = /^systemd (\d+)/.exec(child.stdout())?.[1]
  return code === 0 && number !== undefined ? Number(number) : undefined
}
