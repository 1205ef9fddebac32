import { afterEach, describe, expect, it } from 'vitest'
import { parseRateLimitUpdate, updateRateLimit } from '../../src/shield/rate-limit.ts'
import { readUploadScanning } from '../../src/shield/upload-scanning.ts'
import { listVolumes } from '../../src/shield/volumes.ts'
import { startSimulator } from '../../src/simulator/simulator.ts'
import { answer, type ShieldApi, startShieldApi } from './shield-api.ts'

const never = new AbortController().signal
const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function started(baseUrl?: string): Promise<ShieldApi> {
  const api = await startShieldApi(baseUrl === undefined ? {} : { baseUrl })
  closers.push(() => api.close())
  return api
}

const update = {
  ruleName: 'login',
  ruleConfiguration: {
    actionType: 1,
    operatorType: 0,
    variableTypes: { REQUEST_URI: '' },
    requestCount: 10,
    timeframe: 60,
    blockTime: 300,
    chainedRuleConditions: [{ operatorType: 5, variableTypes: { REQUEST_METHOD: '' }, value: 'POST' }],
  },
}

describe('the rate limit update', () => {
  it('sends the body as given and reads the rule', async () => {
    const api = await started()
    let body = ''
    api.reply((response, request) => {
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () =>
        answer(200, { id: 9_007_199_254, ruleName: 'login', more: 1 })(response, request),
      )
    })
    const outcome = await updateRateLimit(api.client, 7, update, never)
    expect(outcome).toMatchObject({
      outcome: 'updated',
      rule: { id: 9_007_199_254, ruleName: 'login', more: 1 },
    })
    expect(JSON.parse(body)).toEqual(update)
    expect(api.requests[0]).toMatchObject({ method: 'PATCH', url: '/shield/rate-limit/7' })
    expect(api.requests[0]?.headers['content-type']).toBe('application/json')
  })

  it.each([
    [{ ruleName: 5 }, /ruleName: 5 is not allowed/],
    [{ rulename: 'x' }, /rulename: no such field/],
    [
      { ruleConfiguration: { timeframe: 61 } },
      /ruleConfiguration\.timeframe: 61 is not allowed; allowed: 1, 10, 60, 300, 900, 3600/,
    ],
    [{ ruleConfiguration: { operatorType: 10 } }, /operatorType: 10 .*allowed: 0, 1, 2/],
    [{ ruleConfiguration: { requestCount: 2 ** 31 } }, /requestCount: 2147483648/],
    [{ ruleConfiguration: { requestCount: 1.5 } }, /requestCount: 1.5/],
    [{ ruleConfiguration: { variableTypes: { URI: '' } } }, /variableTypes\.URI/],
    [{ ruleConfiguration: { variableTypes: { GEO: 1 } } }, /variableTypes\.GEO: 1/],
    [
      { ruleConfiguration: { chainedRuleConditions: [{ timeframe: 1 }] } },
      /chainedRuleConditions\.0\.timeframe: no such field/,
    ],
    [[], /the body/],
    ['text', /the body/],
  ])('names what is wrong with %j', (body, told) => {
    expect(() => parseRateLimitUpdate(body)).toThrow(told)
    expect(() => parseRateLimitUpdate(body)).toThrow(
      expect.objectContaining({ kind: 'refuse', code: 'rejected' }),
    )
  })

  it('names every apiError at once, and asks nothing of the API', async () => {
    const api = await started()
    const bad = { ruleName: 1, ruleConfiguration: { blockTime: 1, severityType: 9 } }
    await expect(updateRateLimit(api.client, 7, bad, never)).rejects.toThrow(
      /ruleName.*blockTime.*severityType|ruleName.*severityType.*blockTime/,
    )
    for (const id of [-1, 1.5, 2 ** 31, NaN])
      await expect(updateRateLimit(api.client, id, update, never)).rejects.toThrow(/id: /)
    expect(api.requests).toEqual([])
  })

  it.each([
    [
      { location: null, value: null, formatters: [], contentTypes: [], declaredType: null, statusCode: 202 },
      'accepted',
    ],
    [
      {
        id: 0,
        error: { success: false, message: 'no', errorKey: 'not_found_or_unauthorised_access.waf_rule' },
      },
      'rejected',
    ],
    [{}, 'rejected'],
    ['', 'rejected'],
    [{ id: 7, ruleName: 'x' }, 'rejected'],
    [{ statusCode: 401 }, 'unauthorised'],
  ])('202 with %j is %s', async (body, expected) => {
    const api = await started()
    api.reply(answer(202, body))
    const outcome: unknown = await updateRateLimit(api.client, 7, update, never).catch(
      (error: unknown) => error,
    )
    expect(outcome).toMatchObject(expected === 'accepted' ? { outcome: 'accepted' } : { code: expected })
    expect(api.requests.length).toBe(1)
  })

  it('takes 200 with an error for the failure that it is', async () => {
    const api = await started()
    api.reply(
      answer(200, {
        id: 0,
        errorResponse: { success: false, message: 'no', errorKey: 'k', statusCode: 404 },
      }),
    )
    await expect(updateRateLimit(api.client, 7, update, never)).rejects.toMatchObject({
      code: 'rejected',
      details: { errorKey: 'k' },
    })
    api.reply(answer(200, { ruleName: 'x' }))
    await expect(updateRateLimit(api.client, 7, update, never)).rejects.toMatchObject({ code: 'bad_body' })
  })
})

describe('upload scanning', () => {
  it('reads what there is, and takes nothing for a failure but an error', async () => {
    const api = await started()
    const data = {
      overviewPastTwentyEightDays: { '2026-11-01T00:00:00Z': { filesScanned: 1 } },
      totalFilesScanned: 1,
    }
    api.reply(answer(200, { data, error: { success: false, message: '', errorKey: '' } }))
    expect(await readUploadScanning(api.client, 7, never)).toEqual(data)
    expect(api.requests[0]?.url).toBe('/shield/metrics/shield-zone/7/upload-scanning')
    api.reply(
      answer(202, {
        data: null,
        error: { success: false, message: 'plan', errorKey: 'invalid_plan_type.x' },
      }),
    )
    await expect(readUploadScanning(api.client, 7, never)).rejects.toMatchObject({ code: 'rejected' })
    api.reply(answer(200, { data: null }))
    await expect(readUploadScanning(api.client, 7, never)).rejects.toMatchObject({ code: 'rejected' })
    expect(api.budget.heldBytes).toBe(0)
  })
})

describe('volumes', () => {
  it('follows cursors to the end, and takes each volume once', async () => {
    const api = await started()
    api.reply(
      answer(200, {
        items: [{ id: 'a' }, { id: 'b' }],
        cursor: 'c/1',
        summary: { totalStorage: 5 },
        meta: { totalItems: 3 },
      }),
      answer(200, { items: [{ id: 'b' }, { id: 'c' }], cursor: '' }),
    )
    const { items, summary, isWhole } = await listVolumes(api.client, 'my app/..', never)
    expect(items.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(summary).toEqual({ totalStorage: 5 })
    expect(isWhole).toBe(true)
    expect(api.requests.map(({ url }) => url)).toEqual([
      '/mc/apps/my%20app%2F../volumes',
      '/mc/apps/my%20app%2F../volumes?nextCursor=c%2F1',
    ])
  })

  it.each([
    ['a cursor that repeats', { items: [{ id: 'a' }], cursor: 'same' }, 2, false],
    ['one with all there is', { items: [{ id: 'a' }], cursor: 'same', meta: { totalItems: 1 } }, 2, true],
    ['an empty page', { items: [], cursor: 'x' }, 1, true],
    ['no cursor', { items: [{ id: 'a' }], cursor: null }, 1, true],
  ])('ends at %s', async (_, body, requests, whole) => {
    const api = await started()
    api.reply(answer(200, body))
    expect((await listVolumes(api.client, 'app', never)).isWhole).toBe(whole)
    expect(api.requests.length).toBe(requests)
  })
})

describe('against the simulator', () => {
  it('does all of them', async () => {
    const simulator = await startSimulator({ accessKey: 'k-hunter2', volumesPageSize: 2 })
    closers.push(() => simulator.close())
    const { client } = await started(simulator.url)
    simulator.setVolumes(
      'app',
      Array.from({ length: 5 }, (_, n) => ({
        id: `v${n}`,
        name: `v${n}`,
        size: 1,
        totalUsage: 0,
        totalInstancesCount: 0,
        attachedInstancesCount: 0,
        containersCount: 0,
        volumeInstances: [],
      })),
    )
    const { items, isWhole } = await listVolumes(client, 'app', never)
    expect([items.length, isWhole]).toEqual([5, true])
    simulator.setVolumes('nobody', null)
    await expect(listVolumes(client, 'nobody', never)).rejects.toMatchObject({ code: 'rejected' })
    expect(await readUploadScanning(client, 101, never)).toBeDefined()
    simulator.setRateLimitRule({
      id: 7,
      shieldZoneId: 101,
      userId: null,
      ruleName: 'old',
      ruleDescription: null,
      ruleJson: null,
      ruleConfiguration: null,
      errorResponse: null,
    })
    expect(await updateRateLimit(client, 7, update, never)).toMatchObject({
      outcome: 'updated',
      rule: { id: 7 },
    })
    expect(simulator.rateLimitRule(7)?.ruleName).toBe('login')
    await expect(updateRateLimit(client, 8888, update, never)).rejects.toMatchObject({ code: 'rejected' })
    simulator.fail({ fault: { kind: 'acceptedResult' } })
    expect(await updateRateLimit(client, 7, update, never)).toMatchObject({ outcome: 'accepted' })
  })
})
