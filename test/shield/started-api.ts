import { onTestFinished } from 'vitest'
import { startShieldApi, type ShieldApi } from './shield-api.ts'

export const never = new AbortController().signal

/** A client and its server, ended with the test; another address where one is given. */
export async function startedApi(baseUrl?: string): Promise<ShieldApi> {
  const api = await startShieldApi(baseUrl === undefined ? {} : { baseUrl })
  onTestFinished(() => api.close())
  return api
}
