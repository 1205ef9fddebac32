export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

export interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly inBundle?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/**
 * What makes `npm ci` fail, or install another thing than was tried: a dependency that is named but has no entry (npm leaves out binaries
 * for other platforms that its registry did not have), and an entry without version or checksum.
 */
export function holesIn(lock: LockFile): string[] {
  return Object.entries(lock.packages).flatMap(([place, entry]) => {
    const named = { ...entry.dependencies, ...entry.devDependencies, ...entry.optionalDependencies }
    const missing = Object.keys(named)
      .filter((name) => !placesOf(place, name).some((each) => Object.hasOwn(lock.packages, each)))
      .map((name) => `${place === '' ? 'the project' : place} needs ${name}, which has no entry`)
    // The project itself is not downloaded; what a package brings inside itself has the checksum of that package.
    const isOwn = place === '' || entry.link === true || entry.inBundle === true
    const isWhole = entry.version !== undefined && entry.integrity !== undefined
    return isOwn || isWhole ? missing : [...missing, `${place} has no version or no integrity`]
  })
}

/** Where Node looks for a package of this name, seen from the one at `place`: its own folder first, then upwards. */
function placesOf(place: string, name: string): string[] {
  const places = [`node_modules/${name}`]
  let at = place
  while (at !== '') {
    places.push(`${at}/node_modules/${name}`)
    const above = at.lastIndexOf('/node_modules/')
    at = above === -1 ? '' : at.slice(0, above)
  }
  return places
}
