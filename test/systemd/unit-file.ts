/** Directives of a unit file by section, in their order. Throws for a line that is neither comment, section nor directive. */
export function parseUnit(text: string): Map<string, readonly (readonly [name: string, value: string])[]> {
  const sections = new Map<string, (readonly [string, string])[]>()
  let current: (readonly [string, string])[] | undefined
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '' || /^[#;]/.test(line)) continue
    const section = /^\[(\w+)\]$/.exec(line)?.[1]
    const directive = /^(\w+)=(.*)$/.exec(line)
    if (section !== undefined) sections.set(section, (current = []))
    else if (current !== undefined && directive !== null)
      current.push([directive[1] ?? '', directive[2] ?? ''])
    else throw new Error(`line ${index + 1} is no directive: ${line}`)
  }
  return sections
}
