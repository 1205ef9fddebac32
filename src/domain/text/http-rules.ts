/** What is wrong with a setting, and how to fix it; neither text contains its value. */
export interface SettingError {
  readonly problem: string
  readonly remedy: string
  /** It names a file that is not there yet, or is empty: that may pass. */
  readonly isAbsent?: boolean
}

/** What is wrong with a server's URL, if anything; `instead` says where a user name and password belong. */
export function urlError(text: string, instead: string): SettingError | undefined {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return {
      problem: 'is not an http or https URL',
      remedy: 'write a complete URL such as https://host.example/path',
    }
  if (url.username !== '' || url.password !== '')
    return { problem: 'contains a user name or password', remedy: instead }
  if (url.hash !== '')
    return { problem: 'contains a fragment (#…)', remedy: 'remove "#" and everything after it' }
  return undefined
}

const headerText = /^[\x21-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

export function headerValueError(value: string): SettingError | undefined {
  if (headerText.test(value)) return undefined
  return {
    problem: 'is empty, begins or ends with a space, or contains a character that is not allowed in a header',
    remedy: 'write one line of printable characters without leading or trailing spaces',
  }
}

/** A host as the network names it: URLs write brackets around an IPv6 address. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}

/** Whether a host, as written in a URL or a setting, is a loopback name or address of this machine. */
export function isLoopback(host: string): boolean {
  const name = withoutBrackets(host).toLowerCase()
  return name === 'localhost' || name === '::1' || name.endsWith('.localhost') || /^127(\.\d+){3}$/.test(name)
}
