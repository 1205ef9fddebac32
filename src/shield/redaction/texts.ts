import { redacted, type Copies } from './copies.ts'

/** Whether what stands under a name is hidden, and the body of a request. */
export interface HiddenNames {
  readonly header: (name: string) => boolean
  readonly parameter: (name: string) => boolean
  readonly body: boolean
}

/** Finds a name and what is between it and its value; the first group is the name. */
interface Form {
  readonly names: RegExp
  /** Where a value ends that begins at `from`. */
  readonly endOf: (text: string, from: number, found: RegExpExecArray) => number
}

function hideValues(
  text: string,
  { names, endOf }: Form,
  isHidden: (name: string) => boolean,
  copies: Copies,
  begin = 0,
): string {
  const parts: string[] = []
  let from = 0
  names.lastIndex = begin
  for (let found = names.exec(text); found !== null; found = names.exec(text)) {
    const start = names.lastIndex
    // What seemed to be the value of this name may be a name itself.
    names.lastIndex = found.index + found[1]!.length + 1
    if (!isHidden(found[1]!)) continue
    const end = endOf(text, start, found)
    const value = text.slice(start, end)
    if (value.trim() === '') continue
    copies.remember(value)
    parts.push(text.slice(from, start))
    names.lastIndex = from = end
  }
  return from === 0 ? text : [...parts, text.slice(from)].join(redacted)
}

/** The index of what the pattern, a sticky or global one, finds at `from` or later. */
function indexFrom(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}

/** Where the match of a sticky pattern that matches anything ends. */
function endFrom(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  pattern.exec(text)
  return pattern.lastIndex
}

/**
 * Parameters, also inside a URL that is the value of another one, encoded once or more. A value may hold further
 * parameters (`?next=?token=…`): the pattern matches names only, and a hidden name then takes the value after it. A
 * semicolon separates parameters only where a name follows.
 */
const parameterNames =
  /(?:^|[?&;#\s"'(<]|%(?:25)*(?:3f|26|23|3b))((?:[^?&;#\s"'(<>=%]|%(?!(?:25)*(?:3f|26|23|3b|3d)))+)["'>]?(?:=|%(?:25)*3d)/gi
const parameter = (valueEnd: RegExp, encodedValueEnd: RegExp): Form => ({
  names: parameterNames,
  endOf: (text, from, [whole]) => indexFrom(whole.endsWith('=') ? valueEnd : encodedValueEnd, text, from),
})
const parameterInText = parameter(
  /[&\s"'<>#]|;(?=\s*[^&;=#\s]+=)/g,
  /[&\s"'<>#]|%(?:25)*(?:26|23)|;(?=\s*[^&;=#\s]+=)/gi,
)
const parameterInUrl = parameter(/[&#]|;(?=[^&;=#]+=)/g, /[&#]|%(?:25)*(?:26|23)|;(?=[^&;=#]+=)/gi)

/**
 * A member of JSON that is the value of a parameter, also of one in a URL that is encoded in another one, or of JSON that
 * is a text in it.
 */
const memberInUrl: Form = {
  names:
    /(?:"|%(?:25)*22)((?:[^"&#\s%\\]|%(?!(?:25)*(?:22|5c)))+)((?:\\|%(?:25)*5c)*)(?:"|%(?:25)*22)(?:\s|\+|%(?:25)*20)*(?::|%(?:25)*3a)(?:\s|\+|%(?:25)*20)*(?:\\|%(?:25)*5c)*("|%(?:25)*22)?/gi,
  endOf(text, from, [, , escapes, quote]) {
    if (escapes !== '') return indexFrom(/[&#\s]/g, text, from)
    if (quote === '"') return indexFrom(/(?<!\\|%5c)"|[&#]/gi, text, from)
    if (quote !== undefined) return indexFrom(/(?<!\\|%(?:25)*5c)%(?:25)*22|[&#\s]/gi, text, from)
    if (/[[{]/.test(text[from] ?? ''))
      return endOfBrackets(text.slice(0, indexFrom(/[&#]/g, text, from)), from)
    const isNested = /%(?:25)*[57]b/iy
    isNested.lastIndex = from
    return indexFrom(isNested.test(text) ? /[&#\s]/g : /[,}\]&#\s]|%(?:25)*(?:2c|[57]d)/gi, text, from)
  },
}

/** Of its line, and of the lines that continue it. */
const lineEnd = /\r?\n(?![ \t])|\r(?!\n)/g
const endOfHeader: Form['endOf'] = (text, from) => indexFrom(lineEnd, text, from)

/** A line of a request, or of a text inside JSON that was cut, with escaped line breaks. */
const headerLine: Form = {
  names: /(?:^[ \t]*|(?<=\\[nrt]))([\w!#$%*+.^`|~-]+)[ \t]*:[ \t]*/gim,
  endOf: endOfHeader,
}
/** Anywhere in a text of which nothing else is known; in a URL it is a parameter. */
const headerAnywhere: Form = {
  names: /(?:(?<![\w.?&\\-])|(?<=\\[nrt]))([\w.-]+)\s*[:=]\s*/gi,
  endOf: endOfHeader,
}
/** In JSON, perhaps cut, perhaps escaped: a member, a pair of Name and Value, a pair of two texts. */
const quotedName: Form = {
  names:
    /["']([^"'\\\s/?&=:,;]+)\\*["']\s*(?:[:=]|,(?:\s*\\*["']value\\*["']\s*:|(?=\s*\\*["'])))\s*(\\*["'])?/gi,
  endOf(text, from, [, , quote]) {
    if (quote !== undefined) return endOfQuoted(text, from, quote)
    if (/[[{]/.test(text[from] ?? '')) return endOfBrackets(text, from)
    return endFrom(/[\w.+-]+(?=\s*[,}\]])|[^\r\n]*/y, text, from)
  },
}
/** A line of a request as a text in JSON. */
const quotedLine: Form = {
  names: /(?<=["'])([\w!#$%*+.^`|~-]+)[ \t]*:[ \t]*/gi,
  endOf(text, from, { index }) {
    const escapes = /\\{0,16}$/.exec(text.slice(Math.max(0, index - 17), index - 1))![0]
    return endOfQuoted(text, from, escapes + text[index - 1]!)
  },
}

/** `quote` as it stood at the begin of the text: behind backslashes in JSON within JSON. */
function endOfQuoted(text: string, from: number, quote: string): number {
  if (quote === '"') return endFrom(/[^"\\]*(?:\\.[^"\\]*)*/sy, text, from)
  if (quote === "'") return endFrom(/[^'\\]*(?:\\.[^'\\]*)*/sy, text, from)
  const escapes = quote.length - 1
  if (escapes > 15) return indexFrom(lineEnd, text, from)
  return indexFrom(new RegExp(`(?<!\\\\)\\\\{${escapes}}${quote.at(-1)!}`, 'g'), text, from)
}

/** Of an object or a list; the end of the text where it was cut. */
function endOfBrackets(text: string, from: number): number {
  let open = 0
  const signs = /"[^"\\]*(?:\\.[^"\\]*)*"?|[[\]{}]/gs
  signs.lastIndex = from
  for (let found = signs.exec(text); found !== null; found = signs.exec(text)) {
    if (/^[[{]/.test(found[0])) open++
    else if (/^[\]}]/.test(found[0]) && --open === 0) return signs.lastIndex
  }
  return text.length
}

/** Of URLs in a text, also of encoded ones. A password may hold `&` and `'`, which end a URL elsewhere. */
const userInfo =
  /(?<=:(?:\\*\/){2})(?:(?:[^/?#&\s"'<>]|'(?![,);\s]))+|[^/?#&\s"'<>:]*:(?!\d{1,5}&)[^/?#\s"<>]*)(?=@)|(?<=(?::|%(?:25)*3a)(?:\/|%(?:25)*2f){2})(?:(?!%(?:25)*(?:2f|3f|23))(?:[^/?#&\s"'<>]|'(?![,);\s])))+(?=@|%(?:25)*40)/gi

interface HowToHide {
  /** Nothing else is known of the text. */
  readonly isPlain?: boolean
}

export function hideInText(text: string, names: HiddenNames, copies: Copies, how: HowToHide = {}): string {
  // Most values of headers have none of these signs.
  if (!/[:="'@%\n]/.test(text)) return text
  const read = withoutEscapes(text)
  const at = names.body ? bodyStart(read) : read.length
  const clean = hideInPart(read.slice(0, at), names, copies, how)
  if (at === read.length) return clean === read ? text : clean
  // For the copies of what it names.
  hideInPart(read.slice(at), names, copies, how)
  return clean + redacted
}

/** Of JSON that was cut: some services write `&`, quotes and other signs of ASCII as `\u0026`. */
function withoutEscapes(text: string): string {
  if (!text.includes('\\u00')) return text
  return text.replace(/\\u00([23][\da-f])/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
}

/** A whole request, from its first line on. */
export function isRequest(text: string): boolean {
  return text.includes('\n') && /^\s*[a-z]+ \S+ HTTP\/[\d.]+\r?\n/i.test(text)
}

/** Of a request in a text: where its headers end. */
function bodyStart(text: string): number {
  const blank = isRequest(text) ? /\r?\n\r?\n(?=[^])/.exec(text) : null
  return blank === null ? text.length : blank.index + blank[0].length
}

function hideInPart(
  text: string,
  names: HiddenNames,
  copies: Copies,
  { isPlain = false }: HowToHide,
): string {
  let clean = text
  if (isPlain) clean = hideValues(clean, headerAnywhere, names.header, copies)
  else if (clean.includes(':')) clean = hideValues(clean, headerLine, names.header, copies)
  if (/["']/.test(clean)) {
    clean = hideValues(clean, quotedName, names.header, copies)
    clean = hideValues(clean, quotedLine, names.header, copies)
  }
  clean = hideParameters(clean, parameterInText, names, copies)
  return mayHaveUser(clean) ? clean.replace(userInfo, redacted) : clean
}

function hideParameters(text: string, form: Form, names: HiddenNames, copies: Copies, begin = 0): string {
  const mayHave = (sign: string, encoded: string) =>
    text.includes(sign, begin) || text.includes(encoded, begin) || text.includes('%25', begin)
  const clean = mayHave('=', '%3') ? hideValues(text, form, names.parameter, copies, begin) : text
  return mayHave('"', '%22') ? hideValues(clean, memberInUrl, names.header, copies, begin) : clean
}

function mayHaveUser(text: string): boolean {
  return text.includes('@') || /%(?:25)*40/.test(text)
}

/** Where the query or the fragment of a URL begins. */
export function queryStart(url: string): number {
  const [query, fragment] = [url.indexOf('?'), url.indexOf('#')]
  if (query < 0 || fragment < 0) return query < 0 && fragment < 0 ? url.length : Math.max(query, fragment)
  return Math.min(query, fragment)
}

/** Hides the user info and what is hidden of query and fragment; scheme, host and path stay. */
export function hideInUrl(url: string, names: HiddenNames, copies: Copies): string {
  const at = queryStart(url)
  const clean = hideParameters(url, parameterInUrl, names, copies, at)
  if (!mayHaveUser(clean)) return clean
  const front = clean.slice(0, at).replace(/(?<=^\s*[a-z][a-z\d+.-]*:\/\/)[^/]+(?=@)/i, redacted)
  return front + clean.slice(at).replace(userInfo, redacted)
}
