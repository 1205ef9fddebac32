/** Makes text from the store or from the wire safe to print on a terminal. */
export { printable } from '../domain/printable.ts'
