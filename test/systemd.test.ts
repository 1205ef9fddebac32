import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exitCodes } from '../src/tasks/command.ts'
import { loadConfig } from '../src/config/load.ts'
import { fileShape } from '../src/config/file-shape.ts'
import { settingsOf } from '../src/config/environment.ts'
import { projectFolder } from './setup/project-folder.ts'
import { systemdAvailable } from './setup/available.ts'
import { startCli, startProcess } from './setup/processes.ts'
import { runCommand } from './setup/run-command.ts'
import { temporaryFolder } from './setup/temp.ts'

const text = readFileSync(join(projectFolder, 'config/systemd/shieldlog.service'), 'utf8')
/** Directives of the section `Service`; throws for a line that is neither comment nor directive. */
const service = text
  .replace(/^[^]*^\[Service\]$/m, '')
  .replace(/^\[[^]*$/m, '')
  .split('\n')
  .filter((line) => line !== '' && !/^[#;]/.test(line))
  .map((line) => /^(\w+)=(.*)$/.exec(line)!.slice(1) as [name: string, value: string])

function valuesOf(name: string): string[] {
  return service.filter(([each]) => each === name).map(([, value]) => value)
}

function environmentIn(credentials: string): Record<string, string> {
  const routes = valuesOf('Environment').map((route) => route.replaceAll('%d', () => credentials).split('='))
  return Object.fromEntries(routes) as Record<string, string>
}

describe('the process that it starts', () => {
  const words = valuesOf('ExecStart')[0]?.split(' ') ?? []
  const place = words.findIndex((word) => word.endsWith('/shieldlog'))
  const [command, args] = [words.slice(0, place + 1), words.slice(place + 1)]

  /** A folder with credentials, as systemd gives it to the process. */
  function credentialsWith(names: readonly string[]): string {
    const folder = temporaryFolder()
    for (const name of names) writeFileSync(join(folder, name), `the ${name}\n`)
    return folder
  }

  test('reads its key from its credentials, and writes only below its state directory', () => {
    const [credential = '', source = ''] = valuesOf('LoadCredential')[0]?.split(':') ?? []
    expect(source).toMatch(/^\/etc\/shieldlog\//)
    const known = settingsOf(fileShape).map(({ environment }) => environment)
    const env = environmentIn(credentialsWith([credential]))
    for (const name of Object.keys(env)) if (name.startsWith('SHIELDLOG_')) expect(known).toContain(name)
    // The example keeps its key in the environment; what the unit says comes before it.
    const example = { config: join(projectFolder, 'config/examples/file.yaml') }
    const { config, warnings } = loadConfig({ argv: example, env })
    expect(warnings).toEqual([])
    expect(config.accounts[0]?.accessKey.reveal()).toBe(`the ${credential}`)
    const [place] = valuesOf('WorkingDirectory')
    expect(place).toBe(`/var/lib/${valuesOf('StateDirectory')[0]}`)
    const path = expect.stringMatching(`^${place}/`) as string
    expect(config).toMatchObject({ state: { path }, sinks: [{ path }] })
  })

  test('reads the token of a SIEM from a second credential', () => {
    const token = 'siem-token'
    expect(text).toMatch(/^#LoadCredential=siem-token:\/etc\/shieldlog\/siem-token$/m)
    const folder = '/run/credentials/shieldlog.service'
    const [, reference = ''] = /write (\$\{file:\S+\}) in the settings/.exec(text) ?? []
    expect(reference).toContain(`${folder}/${token}`)
    expect(readFileSync(join(projectFolder, 'docs/install.md'), 'utf8')).toContain(reference)
    const credentials = credentialsWith([token, 'access-key'])
    const Authorization = `Bearer ${reference.replace(folder, credentials)}`
    const sink = { name: 'siem', type: 'http', url: 'https://siem.example/in', headers: { Authorization } }
    const draft = { zones: [101], sinks: [sink] }
    const [siem] = loadConfig({ draft, env: environmentIn(credentials) }).config.sinks
    if (siem?.type !== 'http' || !('headers' in siem)) throw new Error('no HTTP sink')
    expect(siem.headers['Authorization']?.reveal()).toBe(`Bearer the ${token}`)
  })

  test('is a valid command, and ends with 78 if its configuration is missing', async () => {
    expect(command.filter((word) => !word.startsWith('--')).join(' ')).toBe(
      '/usr/bin/env node /usr/local/bin/shieldlog',
    )
    const folder = temporaryFolder()
    const missing = join(folder, 'shieldlog.yaml')
    const given = args.map((each) => (each === '/etc/shieldlog/shieldlog.yaml' ? missing : each))
    expect(given).toContain(missing)
    const child = startCli(given, { cwd: folder, env: environmentIn(folder) })
    expect(await child.exited).toEqual({ code: exitCodes.configuration, signal: null })
    expect(child.stderr()).toContain('(shieldlog.yaml): cannot be read')
    // Permanent errors are not followed by a restart.
    const codes = valuesOf('RestartPreventExitStatus')[0]?.split(' ').map(Number)
    expect(codes).toEqual([exitCodes.usage, exitCodes.configuration])
  })
})

/** Fails where systemd reports an error in a unit. */
async function verify(unit: string, content: string): Promise<void> {
  const file = join(temporaryFolder(), unit)
  // Only a program that is there is taken.
  writeFileSync(file, content.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))
  const { stdout, stderr } = await runCommand('systemd-analyze', ['verify', file])
  expect(stdout + stderr).not.toContain(unit)
  if (unit !== 'shieldlog.service') return
  // Of 100, in tenths: 20 is what it calls good.
  await runCommand('systemd-analyze', ['security', '--offline=true', '--threshold=20', '--no-pager', file])
}

test.skipIf(!systemdAvailable())('systemd reports no error in it', () => verify('shieldlog.service', text))

describe('a command beside the service', () => {
  const words = ['backfill', '--from', 'yesterday', '--to', 'yes terday', '$HOME %d']

  /** What the wrapper asks of systemd, which does not run here. */
  async function askedFor(dynamicUser: string): Promise<string[]> {
    const folder = temporaryFolder()
    const place = (name: string, script: string) => {
      writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
      chmodSync(join(folder, name), 0o755)
    }
    // With what `systemctl edit` may add.
    const whole = `${text.replace('#LoadCredential', 'LoadCredential')}\nEnvironmentFile=/etc/shieldlog/environment\n`
    writeFileSync(join(folder, 'unit'), whole)
    place(
      'systemctl',
      `case "$*" in
      'show --property=DynamicUser --value shieldlog.service') echo ${dynamicUser};;
      'cat shieldlog.service') cat ${folder}/unit;;
      *) exit 1; esac`,
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
    const shared = ['StateDirectory', 'StateDirectoryMode', 'WorkingDirectory', 'UMask', 'LoadCredential']
    const own = shared.flatMap((name) => valuesOf(name).map((value) => `${name}=${value}`))
    // The name that systemd gives to the dynamic user of shieldlog.service.
    const user = ['User=shieldlog', `DynamicUser=${dynamicUser}`]
    const added = [
      'LoadCredential=siem-token:/etc/shieldlog/siem-token',
      'EnvironmentFile=/etc/shieldlog/environment',
    ]
    // Settings name the credentials of the service.
    const credentials = '/run/credentials/shieldlog.service'
    const bound = `BindReadOnlyPaths=/run/credentials/${optionsOf(asked, 'unit')[0]}.service:${credentials}`
    expect(optionsOf(asked, 'property')).toEqual(expect.arrayContaining([...own, ...user, ...added, bound]))
    const given = optionsOf(asked, 'setenv')
    const environment = Object.entries(environmentIn(credentials))
    const settings = environment.filter(([name]) => name.startsWith('SHIELDLOG_'))
    expect(given).toEqual(expect.arrayContaining(settings.map((each) => each.join('='))))
    const [, config] = /SHIELDLOG_CONFIG=(.*)/.exec(given.join('\n')) ?? []
    expect(valuesOf('ExecStart')[0]).toContain(` ${config}`)
  })

  test.skipIf(!systemdAvailable())('is a unit in which systemd reports no error', async () => {
    const asked = await askedFor('yes')
    const environment = optionsOf(asked, 'setenv').map((each) => `Environment=${each}`)
    const lines = ['[Service]', 'ExecStart=/program', ...optionsOf(asked, 'property'), ...environment]
    await verify(`${optionsOf(asked, 'unit')[0]}.service`, `${lines.join('\n')}\n`)
  })
})
