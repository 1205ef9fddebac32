import { ConfigFile } from './schema.ts'
import { shapeOf, type Shape } from './shape.ts'

/** Of the whole file. A bundle holds it as data, since deriving it takes a sixth of the CPU time of a start. */
export const fileShape: Shape = shapeOf(ConfigFile)
