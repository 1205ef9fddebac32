import { nativeSchema } from '../formats/native-schema.ts'

/** JSON Schemas of single lines, by format. */
export const formatSchemas = { native: nativeSchema }
