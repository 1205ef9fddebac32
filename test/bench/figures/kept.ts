import { projectFolder } from '../../setup/project-folder.ts'

/** The figures that the docs show. */
export const figuresFile = `${projectFolder}docs/reference/figures.json`
