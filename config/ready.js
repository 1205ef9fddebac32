// What the scripts of development need, asked by whatever Node runs them: one line says what is missing, and the remedy.
// JavaScript, because an older Node has to read it.
const { node: version } = process.versions

async function missing() {
  if (Number.parseInt(version) < 24)
    return `this needs Node 24, and runs on ${version}: run npm ci, which installs it. If it did not, npm run -s shieldlog says why.`
  try {
    // The package of which npm leaves out the parts that are for newer versions of Node than the one it runs on.
    await import('rolldown')
    return undefined
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    return isAbsent
      ? 'packages are missing: run npm ci --include=dev'
      : 'npm ci ran on a Node older than 20.19 and left packages out: run PATH="$PWD/node_modules/.bin:$PATH" npm ci'
  }
}

const problem = await missing()
if (problem !== undefined) process.stderr.write(`${problem}\n`)
process.exitCode = problem === undefined ? 0 : 1
