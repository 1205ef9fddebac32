import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { routesOf, parseDockerfile, type Stage } from '../image/image.ts'
import { fencesOf } from '../docs/pages.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { runCommand } from '../setup/run-command.ts'
import { temporaryFolder } from '../setup/temp.ts'

/** Where it lies in the image. */
const sdkFolder = '/home/node/otel'

/** The image with an SDK, as docs/operations.md shows it. */
export function tracingImage(): Stage {
  const page = readFileSync(`${projectFolder}docs/operations.md`, 'utf8')
  const fences = fencesOf(page).filter(({ text }) => text.includes('@opentelemetry/'))
  const [stage, ...others] = fences.flatMap(({ text }) => parseDockerfile(text))
  if (stage === undefined || others.length > 0)
    throw new Error('docs/operations.md shows no image for traces, or two')
  return stage
}

/**
 * The environment that this image gives a process, with the SDK that the lock file names: the last part of its RUN step
 * writes the module that is loaded, its ENV step says how.
 */
export async function tracedTo(
  collector: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const { instructions } = tracingImage()
  const textOf = (name: string) => instructions.find((each) => each.name === name)?.text ?? ''
  const [, write] = /^npm install .*? && (printf .*)$/.exec(textOf('RUN')) ?? []
  if (write === undefined) throw new Error(`the RUN of docs/operations.md has changed: ${textOf('RUN')}`)
  const folder = temporaryFolder()
  symlinkSync(join(projectFolder, 'node_modules'), join(folder, 'node_modules'))
  await runCommand('sh', ['-ec', write.replaceAll(sdkFolder, folder)])
  const said = Object.entries(routesOf(textOf('ENV'))).map(([name, text]) => [
    name,
    text.replaceAll(sdkFolder, folder),
  ])
  return {
    ...(Object.fromEntries(said) as Record<string, string>),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    ...more,
  }
}
