/** The syntax tree of a file, as its parser gives it. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

type Visitor = (node: Node, parent: Node | undefined) => void

export function visit(node: Node, visitor: Visitor, parent?: Node): void {
  visitor(node, parent)
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(child)) visit(child, visitor, node)
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

export function nodeIn(node: Node, key: string): Node | undefined {
  const value = node[key]
  return isNode(value) ? value : undefined
}

export function nodesIn(node: Node, key: string): readonly Node[] {
  const value = node[key]
  return Array.isArray(value) ? value.filter(isNode) : []
}

export function nameOf(node: Node | undefined): string | undefined {
  if (node?.type === 'Identifier' && typeof node['name'] === 'string') return node['name']
  if (node?.type === 'Literal' && typeof node['value'] === 'string') return node['value']
  return undefined
}

export function namesIn(pattern: Node | undefined): string[] {
  if (pattern === undefined) return []
  switch (pattern.type) {
    case 'Identifier':
      return [nameOf(pattern) ?? '']
    case 'ObjectPattern':
      return nodesIn(pattern, 'properties').flatMap((each) =>
        namesIn(nodeIn(each, each.type === 'RestElement' ? 'argument' : 'value')),
      )
    case 'ArrayPattern':
      return nodesIn(pattern, 'elements').flatMap(namesIn)
    case 'AssignmentPattern':
      return namesIn(nodeIn(pattern, 'left'))
    case 'RestElement':
      return namesIn(nodeIn(pattern, 'argument'))
    default:
      return []
  }
}

export function lineCounter(text: string): (offset: number) => number {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => starts.filter((start) => start <= offset).length
}
