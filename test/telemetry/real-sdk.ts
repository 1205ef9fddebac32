import { readFileSync } from 'node:fs'
import { pairsOf, parseDockerfile, type Stage } from '../image/instructions.ts'
import { fencesOf } from '../docs/fences.ts'
import { projectFolder } from '../setup/project-folder.ts'

/** Where it lies in the image. */
const sdkFolder = '/home/node/otel'

/** The image with an SDK, as the README shows it. */
export function tracingImage(): Stage {
  const readme = readFileSync(`${projectFolder}README.md`, 'utf8')
  const fences = fencesOf(readme).filter(({ text }) => text.includes('@opentelemetry/'))
  const [stage, ...others] = fences.flatMap(({ text }) => parseDockerfile(text))
  if (stage === undefined || others.length > 0)
    throw new Error('the README shows no image for traces, or two')
  return stage
}

/** The last part of its RUN step: writes the module that is loaded into `folder`, beside the packages. */
export function writeStart(folder: string): string {
  const text = tracingImage().instructions.find(({ name }) => name === 'RUN')?.text ?? ''
  const [, write] = /^npm install .*? && (printf .*)$/.exec(text) ?? []
  if (write === undefined) throw new Error(`the README's RUN has changed: ${text}`)
  return write.replaceAll(sdkFolder, folder)
}

/** What its ENV says, with the SDK in `folder`. */
export function tracingEnvironment(folder: string): Record<string, string> {
  const said = pairsOf(tracingImage().instructions.find(({ name }) => name === 'ENV')?.text ?? '')
  return Object.fromEntries(
    Object.entries(said).map(([name, text]) => [name, text.replaceAll(sdkFolder, folder)]),
  )
}
