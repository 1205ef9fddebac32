/** Whether a host, as a URL or a setting names it, is this machine and reached by nobody else. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase()
  return name === 'localhost' || name === '::1' || name.endsWith('.localhost') || /^127(\.\d+){3}$/.test(name)
}
