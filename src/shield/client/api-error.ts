import { isObject } from '../../domain/text/json.ts'

/** The error that the body of an answer describes. Every text may be empty. */
export interface ApiError {
  readonly message: string
  readonly errorKey: string
  /** The status that the body names, 400 to 599; used when the HTTP status claims success. */
  readonly status: number | undefined
  /** True when the body alone marks the answer as a failure, whatever its status. */
  readonly isDeclared: boolean
}

const none: ApiError = { message: '', errorKey: '', status: undefined, isDeclared: false }

/**
 * Reads every known error shape: the envelopes `errorResponse` and `error`, the same fields at top level,
 * ProblemDetails, validation problems (a list, or a map of lists), a single `Message`, and any of these as the `value`
 * of a framework's result. An envelope with neither a message nor a key nor a status of an error is an empty default,
 * not a failure. `type` and `instance` of a problem are left out: they may repeat the request.
 */
export function apiErrorOf(body: unknown): ApiError {
  if (!isObject(body)) return none
  const envelope = errorOfEnvelope(body['errorResponse']) ?? errorOfEnvelope(body['error'])
  if (envelope !== undefined) return envelope
  if (isFrameworkResult(body) && isObject(body['value'])) {
    const inner = apiErrorOf(body['value'])
    if (inner.isDeclared) return inner
  }
  const own = errorOfEnvelope(body)
  const problem = errorOfProblem(body)
  if (own === undefined) return problem
  return { ...own, message: own.message || problem.message, status: own.status ?? problem.status }
}

function errorOfEnvelope(value: unknown): ApiError | undefined {
  if (!isObject(value) || value['success'] === true) return undefined
  const message = text(value['message'])
  const errorKey = text(value['errorKey'])
  const status = errorStatus(value['statusCode'])
  const isDeclared =
    errorKey !== '' || (value['success'] === false && (message !== '' || status !== undefined))
  return isDeclared ? { message, errorKey, status, isDeclared } : undefined
}

/** A result object that the API's framework wrote out whole, such as AcceptedResult. */
function isFrameworkResult(body: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(body, 'formatters') && Object.hasOwn(body, 'contentTypes')
}

function errorOfProblem(body: Readonly<Record<string, unknown>>): ApiError {
  const status = errorStatus(body['status']) ?? errorStatus(body['statusCode'])
  const title = text(body['title'])
  const id = text(body['id'])
  const message = [
    title,
    text(body['detail']),
    ...validationTexts(body['errors']),
    ...(title === '' || id === '' ? [] : [`problem id ${id}`]),
  ].filter((part) => part !== '')
  const plain = text(body['Message']) || text(body['message'])
  return {
    message: message.length > 0 ? message.join('; ') : plain,
    errorKey: text(body['ErrorKey']),
    status,
    isDeclared:
      status !== undefined && (title !== '' || Object.keys(body).length === 1 || isFrameworkResult(body)),
  }
}

const mostTexts = 10

function validationTexts(errors: unknown): string[] {
  if (Array.isArray(errors)) {
    return errors
      .slice(0, mostTexts)
      .filter(isObject)
      .map((error) => `${text(error['field'])} ${text(error['message'])}`.trim())
  }
  if (!isObject(errors)) return []
  return Object.entries(errors)
    .slice(0, mostTexts)
    .map(([field, texts]) =>
      `${field} ${Array.isArray(texts) ? texts.map(text).join(', ') : text(texts)}`.trim(),
    )
}

function errorStatus(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value <= 599
    ? value
    : undefined
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
