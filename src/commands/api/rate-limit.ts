import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { createOperations } from '../../assemble/tasks/operations.ts'
import { printable } from '../../domain/text/printable.ts'
import { messageOf } from '../../domain/failure.ts'
import { wholeNumber } from '../arguments.ts'
import { jsonResult } from '../terminal/json-result.ts'
import { UsageError, type Registration } from '../registration.ts'
import { chooseAccount } from '../selection.ts'
import { example } from '../program-name.ts'

export function registerRateLimit({ command: rateLimit, io, load }: Registration): void {
  rateLimit.addHelpText('after', example('rate-limit update 7 --file rule.json'))
  rateLimit
    .command('update')
    .description('change a rate limit rule and print the answer of the API')
    .argument('<id>', 'id of the rule', wholeNumber)
    .requiredOption('--file <file>', 'JSON with ruleName, ruleDescription, ruleConfiguration')
    .option('--account <name>', 'account that owns the rule, where there are several')
    .addHelpText('after', example('rate-limit update 42 --file rule.json'))
    .action(async (id: number, { file, account }: { file: string; account?: string }, command: Command) => {
      const { config } = load(command, 'key')
      const operations = createOperations(config, chooseAccount(config, account).name)
      const result = await operations.updateRateLimit(id, await readJson(file), io.signal)
      if (result.outcome === 'accepted')
        io.stderr.write('the API accepted the change without saying what became of the rule\n')
      io.stdout.write(jsonResult(result.outcome === 'updated' ? result.rule : result.answer))
    })
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`--file ${printable(file)} is no readable JSON file: ${printable(messageOf(error))}`)
  }
}
