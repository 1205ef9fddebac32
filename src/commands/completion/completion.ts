import { Argument } from 'commander'
import { example } from '../program-name.ts'
import type { Registration } from '../registration.ts'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { completedCommand } from './words.ts'
import { zshScript } from './zsh.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }
type Shell = keyof typeof scripts

const help = `
Add the line to the start-up file of the shell. bash and zsh: source <(shieldlog completion bash);
fish: shieldlog completion fish | source.
`

export function registerCompletion({ program, command, io }: Registration): void {
  command
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .addHelpText('after', `${help}${example('completion bash')}`)
    .action((shell: Shell) => void io.stdout.write(scripts[shell](completedCommand(program))))
}
