import { EventLogs } from './api/event-logs.ts'
import { createRateLimits, negotiated, type RateLimits } from './api/rate-limit.ts'
import { createShieldZones } from './api/shield-zones.ts'
import { createUploadScanning, type UploadScanning } from './api/upload-scanning.ts'
import { createVolumes, type Volumes } from './api/volumes.ts'
import { jsonAnswer, problem, type Answer } from './answer.ts'
import type { Operation, Route } from './route.ts'
import type { Settings } from './options.ts'
import type { Traffic } from './entries/traffic.ts'
import type { IncomingHttpHeaders } from 'node:http'

export interface OperationRequest {
  readonly route: Route
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Operations {
  readonly eventLogs: EventLogs
  readonly rateLimits: RateLimits
  readonly uploadScanning: UploadScanning
  readonly volumes: Volumes
  /** The regular answer, without any fault. */
  answer(request: OperationRequest): Answer
}

export function createOperations(settings: () => Settings, traffic: Traffic): Operations {
  const eventLogs = new EventLogs(settings, traffic)
  const rateLimits = createRateLimits(settings().zones)
  const uploadScanning = createUploadScanning(settings)
  const volumes = createVolumes(settings)
  const shieldZones = createShieldZones(settings)
  const budget = createBudget(settings)

  const operations = {
    eventLogs: ({ route }) => eventLogs.answer(route),
    updateRateLimit: ({ route, headers, body }) =>
      rateLimits.answer(route, {
        contentType: headers['content-type'] ?? '',
        accept: headers.accept ?? '',
        body,
      }),
    uploadScanning: ({ route }) => uploadScanning.answer(route),
    volumes: ({ route }) => volumes.answer(route),
    shieldZones: ({ route }) => shieldZones.answer(route),
    unknown: ({ route }) => problem(400, route.malformed ?? '', route),
  } satisfies Record<Operation, (request: OperationRequest) => Answer>

  const isAuthorised = ({ route, headers }: OperationRequest): boolean => {
    const key = headers['accesskey']
    const { accessKey } = settings()
    if (accessKey !== null) return key === accessKey
    return route.operation !== 'volumes' || (typeof key === 'string' && key !== '')
  }

  const answer = (request: OperationRequest): Answer => {
    const { route, headers } = request
    if (route.allowed === '') return problem(404, 'There is nothing at this path.', route)
    if (route.method !== route.allowed) {
      const refusal = problem(405, `The path takes ${route.allowed} only.`, route)
      return { ...refusal, headers: { ...refusal.headers, allow: route.allowed } }
    }
    if (!isAuthorised(request)) return unauthorised(route, headers.accept ?? '')
    const waitSeconds = budget()
    if (waitSeconds > 0) {
      const refusal = problem(429, 'Too many requests.', route)
      return { ...refusal, headers: { ...refusal.headers, 'retry-after': String(waitSeconds) } }
    }
    return operations[route.operation](request)
  }

  return { eventLogs, rateLimits, uploadScanning, volumes, answer }
}

function unauthorised(route: Route, accept: string): Answer {
  if (route.operation === 'updateRateLimit') return negotiated(401, { statusCode: 401 }, accept)
  if (route.operation === 'uploadScanning') return jsonAnswer(401, { statusCode: 401 })
  return problem(401, 'The access key is missing or not valid.', route)
}

/** Counts a request against the rate limit; returns the seconds to wait when the limit is reached, otherwise 0. */
function createBudget(settings: () => Settings): () => number {
  let room = 0
  let countedAt = Number.NEGATIVE_INFINITY
  return () => {
    const rate = settings().requestsPerSecond
    if (rate === null) return 0
    const now = settings().clock.monotonic()
    const most = Math.max(1, rate)
    room = Math.min(most, room + Math.max(0, now - countedAt) * (rate / 1000))
    countedAt = now
    if (room < 1) return Math.max(1, Math.ceil((1 - room) / rate))
    room--
    return 0
  }
}
