import { Option, type Command } from 'commander'
import { nativeSchema } from '../formats/native-schema.ts'
import type { Loaded } from '../config/load.ts'
import { configJsonSchema } from '../config/json-schema.ts'
import { effectiveYaml } from '../config/print.ts'
import type { Output, Registration } from './command.ts'
import { example } from './program-name.ts'

/** JSON Schemas of single lines, by format. */
const formatSchemas = { native: nativeSchema }

export function register({ command: config, io, load }: Registration): void {
  config.addHelpText('after', example('config print'))
  config
    .command('print')
    .description('print the effective settings with their origin, secrets masked')
    .addHelpText('after', example('config print -c shieldlog.yaml'))
    .action((_: unknown, command: Command) => printConfig(load(command, 'nothing'), io.stdout))
  config
    .command('schema')
    .description('print the JSON Schema of the configuration file, or of one line of a format')
    .addOption(
      new Option('--format <name>', 'schema of this format instead of the file').choices(
        Object.keys(formatSchemas),
      ),
    )
    .addHelpText('after', example('config schema --format native'))
    .action(({ format }: { format?: keyof typeof formatSchemas }) =>
      printSchema(format, formatSchemas, io.stdout),
    )
}

/** `config print`: the settings in force with their origins. */
export function printConfig(loaded: Loaded, output: Output): void {
  output.write(effectiveYaml(loaded))
}

/**
 * `config schema`: JSON Schema of the file, or of one line of a format. `formatSchemas` holds the line schemas by
 * format.
 */
export function printSchema<Format extends string>(
  format: Format | undefined,
  formatSchemas: Readonly<Record<Format, unknown>>,
  output: Output,
): void {
  const schema = format === undefined ? configJsonSchema() : formatSchemas[format]
  output.write(`${JSON.stringify(schema, null, 2)}\n`)
}
