import { nameOf, namesIn, nodeIn, nodesIn, visit, type Node } from './syntax.ts'

export interface FunctionShape {
  readonly name: string
  readonly line: number
  readonly lines: number
  readonly arguments: number
  /** Variables (`let`) at its top level that a function inside of it uses. */
  readonly sharedVariables: readonly string[]
}

const types = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']

const isFunction = (node: Node): boolean => types.includes(node.type)

export function functionsIn(program: Node, lineOf: (offset: number) => number): FunctionShape[] {
  const shapes: FunctionShape[] = []
  visit(program, (node, parent) => {
    if (!isFunction(node)) return
    const named = nodeIn(node, 'id') ?? (parent && (nodeIn(parent, 'key') ?? nodeIn(parent, 'id')))
    const line = lineOf(node.start)
    shapes.push({
      name: nameOf(named) ?? 'a function',
      line,
      lines: lineOf(node.end) - line + 1,
      arguments: nodesIn(node, 'params').length,
      sharedVariables: sharedVariablesOf(node),
    })
  })
  return shapes
}

function sharedVariablesOf(node: Node): string[] {
  const body = nodeIn(node, 'body')
  if (body === undefined) return []
  const variables = nodesIn(body, 'body')
    .filter((each) => each.type === 'VariableDeclaration' && each['kind'] === 'let')
    .flatMap((each) => nodesIn(each, 'declarations'))
    .flatMap((each) => namesIn(nodeIn(each, 'id')))
  if (variables.length === 0) return []
  const used = new Set<string>()
  visit(body, (inner) => {
    if (isFunction(inner)) visit(inner, (each) => used.add(nameOf(each) ?? ''))
  })
  return variables.filter((name) => used.has(name))
}
