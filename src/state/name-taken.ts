import { Failure } from '../domain/failure.ts'

/** Failure for a sink name that is in use. `what`: what the store has under that name. */
export function nameTaken(to: string, what: readonly string[]): Failure {
  const text = `the sink name ${to} is taken (the store has ${what.join(', ')} of it): choose a name that was never used`
  return new Failure('refuse', 'store_refuses', text)
}
