import { fileURLToPath } from 'node:url'

/** The checkout that holds this file, with a trailing slash. */
export const projectFolder = fileURLToPath(new URL('../..', import.meta.url))
