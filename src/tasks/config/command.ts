import { Option, type Command } from 'commander'
import { nativeSchema } from '../../formats/native-schema.ts'
import { configJsonSchema } from '../../config/json-schema.ts'
import { effectiveYaml } from '../../config/print.ts'
import type { Registration } from '../command.ts'
import { example } from '../../terminal/program-name.ts'

export function register({ command: config, io, load }: Registration): void {
  config.addHelpText('after', example('config print'))
  config
    .command('print')
    .description('print the effective settings with their origin, secrets masked')
    .addHelpText('after', example('config print -c shieldlog.yaml'))
    .action((_: unknown, command: Command) => void io.stdout.write(effectiveYaml(load(command, 'nothing'))))
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file, or of one line of a format')
    .addOption(new Option('--format <name>', 'schema of this format instead of the file').choices(['native']))
    .addHelpText('after', example('config schema --format native'))
    .action(({ format }: { format?: string }) => {
      const schema = format === undefined ? configJsonSchema() : nativeSchema
      io.stdout.write(`${JSON.stringify(schema, null, 2)}\n`)
    })
}
