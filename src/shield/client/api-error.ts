import { isObject } from '../../domain/text/is-object.ts'

/** What the body of an answer says went wrong. All texts may be empty. */
export interface ApiError {
  readonly message: string
  readonly errorKey: string
  /** 400 to 599 where the body names one; it counts where the answer's own status claims success. */
  readonly status: number | undefined
  /** The body says by itself that it is a failure, whatever the status. */
  readonly isDeclared: boolean
}

const none: ApiError = { message: '', errorKey: '', status: undefined, isDeclared: false }

/**
 * Reads every shape of error that was seen: the envelopes `errorResponse` and `error`, the same as the whole body,
 * ProblemDetails, validation problems (a list, or a map of lists), a lone `Message`. An envelope that names neither a
 * message nor a key is an empty default and no failure.
 */
export function apiErrorOf(body: unknown): ApiError {
  if (!isObject(body)) return none
  const envelope = errorOfEnvelope(body['errorResponse']) ?? errorOfEnvelope(body['error'])
  if (envelope !== undefined) return envelope
  const own = errorOfEnvelope(body)
  const problem = errorOfProblem(body)
  if (own === undefined) return problem
  return { ...own, message: own.message || problem.message, status: own.status ?? problem.status }
}

function errorOfEnvelope(value: unknown): ApiError | undefined {
  if (!isObject(value) || value['success'] === true) return undefined
  const message = text(value['message'])
  const errorKey = text(value['errorKey'])
  const isDeclared = errorKey !== '' || (value['success'] === false && message !== '')
  return isDeclared ? { message, errorKey, status: errorStatus(value['statusCode']), isDeclared } : undefined
}

function errorOfProblem(body: Readonly<Record<string, unknown>>): ApiError {
  const status = errorStatus(body['status']) ?? errorStatus(body['statusCode'])
  const title = text(body['title'])
  const message = [title, text(body['detail']), ...validationTexts(body['errors'])].filter(
    (part) => part !== '',
  )
  const plain = text(body['Message']) || text(body['message'])
  return {
    message: message.length > 0 ? message.join('; ') : plain,
    errorKey: text(body['ErrorKey']),
    status,
    isDeclared: status !== undefined && (title !== '' || Object.keys(body).length === 1),
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
