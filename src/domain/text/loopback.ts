/** Whether a host, as written in a URL or a setting, is a loopback name or address of this machine. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase()
  return name === 'localhost' || name === '::1' || name.endsWith('.localhost') || /^127(\.\d+){3}$/.test(name)
}
