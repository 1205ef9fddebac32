import { posix } from 'node:path'
import { parseAst } from 'vitest/node'
import { lineCounter, nameOf, namesIn, nodeIn, nodesIn, visit, type Node } from './syntax.ts'

/** What one TypeScript file imports, exports and asks of the globals, each with its line. */
export interface SourceFile {
  /** From the project folder, with slashes. */
  readonly path: string
  readonly imports: readonly Import[]
  /**
   * Globals by dotted name (`Date.now`, `process.env`, `fetch`), `new X()` and `X()` where called without arguments.
   * `globalThis.` is left out. Names that the file declares itself are no globals.
   */
  readonly globals: readonly Mention[]
  readonly defaultExports: readonly Mention[]
  /** Text outside of string, template and regular expression literals, comments included, line by line. */
  readonly linesWithoutLiterals: readonly string[]
}

export interface Mention {
  readonly name: string
  readonly line: number
}

export interface Import {
  /** As written. */
  readonly specifier: string
  /** For a relative one: the path from the project folder; it may begin with `../`. */
  readonly target: string | undefined
  /** Imported names; `*` for all of them, `default`. */
  readonly names: readonly string[]
  /** Gone at run time. */
  readonly isType: boolean
  readonly line: number
}

export function readSourceFile(path: string, text: string): SourceFile {
  // What it is to be replaced with is not among the exports of this package.
  // oxlint-disable-next-line typescript/no-deprecated
  const program = parseAst(text, { lang: 'ts' }) as unknown as Node
  const lineOf = lineCounter(text)
  const imports: Import[] = []
  const globals: Mention[] = []
  const defaultExports: Mention[] = []
  const declared = new Set<string>()
  const literals: Node[] = []
  visit(program, (node) => {
    for (const name of namesDeclaredBy(node)) declared.add(name)
    const specifier = specifierOf(node)
    if (specifier !== undefined) {
      const target = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined
      const isType =
        node['importKind'] === 'type' || node['exportKind'] === 'type' || node.type === 'TSImportType'
      imports.push({ specifier, target, names: importedNames(node), isType, line: lineOf(node.start) })
    }
    if (exportsDefault(node)) defaultExports.push({ name: 'default', line: lineOf(node.start) })
    if (node.type === 'Literal' || node.type === 'TemplateElement') literals.push(node)
  })
  visit(program, (node, parent) => {
    for (const name of globalsOf(node, parent)) {
      const root = /^(?:new )?([\w$]+)/.exec(name)?.[1] ?? ''
      // A constructor of a package is imported, and still reads the clock when it is called without arguments.
      if (!declared.has(root) || name.startsWith('new ')) globals.push({ name, line: lineOf(node.start) })
    }
  })
  return {
    path,
    imports,
    globals,
    defaultExports,
    linesWithoutLiterals: blank(text, literals).split('\n'),
  }
}

function specifierOf(node: Node): string | undefined {
  const holders = ['ImportDeclaration', 'ExportNamedDeclaration', 'ExportAllDeclaration', 'ImportExpression']
  if (holders.includes(node.type) || node.type === 'TSImportType') return nameOf(nodeIn(node, 'source'))
  const isRequire = node.type === 'CallExpression' && nameOf(nodeIn(node, 'callee')) === 'require'
  return isRequire ? nameOf(nodesIn(node, 'arguments')[0]) : undefined
}

function importedNames(node: Node): string[] {
  const specifiers = nodesIn(node, 'specifiers')
  if (node.type !== 'ImportDeclaration' && node.type !== 'ExportNamedDeclaration') return ['*']
  return specifiers.map((each) => {
    if (each.type === 'ImportDefaultSpecifier') return 'default'
    if (each.type === 'ImportNamespaceSpecifier') return '*'
    return nameOf(nodeIn(each, 'imported') ?? nodeIn(each, 'local')) ?? '*'
  })
}

function exportsDefault(node: Node): boolean {
  if (node.type === 'ExportDefaultDeclaration') return true
  return (
    node.type === 'ExportNamedDeclaration' &&
    nodesIn(node, 'specifiers').some((each) => nameOf(nodeIn(each, 'exported')) === 'default')
  )
}

/** Bindings of any scope: a name that the file uses for something of its own is not looked for among the globals. */
function namesDeclaredBy(node: Node): string[] {
  switch (node.type) {
    case 'VariableDeclarator':
    case 'ClassDeclaration':
      return namesIn(nodeIn(node, 'id'))
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return [...namesIn(nodeIn(node, 'id')), ...nodesIn(node, 'params').flatMap(namesIn)]
    case 'CatchClause':
      return namesIn(nodeIn(node, 'param'))
    case 'ImportSpecifier':
    case 'ImportDefaultSpecifier':
    case 'ImportNamespaceSpecifier':
      // `import process from 'node:process'` is the global by another way.
      return namesIn(nodeIn(node, 'local')).filter((name) => name !== 'process')
    default:
      return []
  }
}

function globalsOf(node: Node, parent: Node | undefined): string[] {
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    const callee = dottedName(nodeIn(node, 'callee'))
    if (callee === undefined || nodesIn(node, 'arguments').length > 0) return []
    return [`${node.type === 'NewExpression' ? 'new ' : ''}${callee}()`]
  }
  if (node.type === 'VariableDeclarator' && nodeIn(node, 'id')?.type === 'ObjectPattern') {
    // const { env } = process
    const from = dottedName(nodeIn(node, 'init'))
    if (from === undefined) return []
    const properties = nodesIn(nodeIn(node, 'id') ?? node, 'properties')
    return properties.map((each) => withoutGlobalThis(`${from}.${nameOf(nodeIn(each, 'key')) ?? '*'}`))
  }
  if (!isReference(node, parent)) return []
  const name = dottedName(node)
  return name === undefined ? [] : [name]
}

function isReference(node: Node, parent: Node | undefined): boolean {
  if (node.type === 'MemberExpression') return true
  if (node.type !== 'Identifier' || parent === undefined) return false
  // Types name values without using them; properties and keys have names of their own.
  const inType =
    parent.type.startsWith('TS') &&
    !['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(parent.type)
  if (inType) return false
  const isProperty = parent['property'] === node || parent['key'] === node
  return !isProperty || parent['computed'] === true || parent['shorthand'] === true
}

function dottedName(node: Node | undefined): string | undefined {
  if (node?.type === 'Identifier') return nameOf(node)
  if (node?.type === 'ChainExpression') return dottedName(nodeIn(node, 'expression'))
  if (node?.type !== 'MemberExpression') return undefined
  const object = dottedName(nodeIn(node, 'object'))
  const property = nodeIn(node, 'property')
  if (object === undefined || (node['computed'] === true && property?.type !== 'Literal')) return undefined
  return withoutGlobalThis(`${object}.${nameOf(property) ?? '*'}`)
}

function withoutGlobalThis(name: string): string {
  return name.replace(/^(?:globalThis|global)\./, '')
}

function blank(text: string, nodes: readonly Node[]): string {
  let blanked = text
  for (const { start, end } of nodes) {
    const hollow = blanked.slice(start, end).replaceAll(/[^\n]/g, ' ')
    blanked = blanked.slice(0, start) + hollow + blanked.slice(end)
  }
  return blanked
}
