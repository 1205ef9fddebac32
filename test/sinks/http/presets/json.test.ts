import { presetContract } from '../../../contract/preset.contract.ts'
import { headerOf, idsIn, wholeBody } from './dialects.ts'

presetContract('json', {
  settings: (url, secret) => ({ url, headers: { Authorization: secret } }),
  idsOf: idsIn,
  secretOf: headerOf('authorization'),
  ...wholeBody({ status: 200 }, { status: 401 }),
  readsStatusOnly: true,
})
