import { Document, type Node, isCollection, isMap, isScalar, isSeq, stringify } from 'yaml'
import { isScalarList } from './effective.ts'
import { type Path, pathText } from './errors.ts'
import type { Origin } from './layers.ts'
import type { Loaded } from './load.ts'

/** The settings in force as YAML, each with its origin as a comment. Secrets are masked. */
export function effectiveYaml(loaded: Loaded): string {
  const { effective, file } = loaded
  const document = new Document(effective, { version: '1.2' })
  comment(document.contents, [], loaded)
  document.commentBefore = file === undefined ? ' no file' : ` file: ${file}`
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

type Notes = Pick<Loaded, 'origins' | 'unresolved'>

function comment(node: Node | null, path: Path, notes: Notes): void {
  if (node === null) return
  const isLeaf = isScalar(node) || (isCollection(node) && isScalarList(node.toJSON()))
  if (isLeaf) {
    const at = pathText(path)
    const [origin, problem] = [notes.origins.get(at), notes.unresolved.get(at)]
    const texts = [
      ...(origin === undefined ? [] : [originText(origin)]),
      ...(problem === undefined ? [] : [problem]),
    ]
    if (texts.length > 0) node.comment = ` ${texts.join('; ')}`
    if (isCollection(node)) node.flow = true
  } else if (isSeq<Node>(node)) node.items.forEach((item, index) => comment(item, [...path, index], notes))
  else if (isMap<Node, Node | null>(node))
    for (const { key, value } of node.items)
      comment(value, [...path, String(isScalar(key) ? key.value : key)], notes)
}

function originText({ source, where }: Origin): string {
  return where === undefined ? source : `${source} ${where}`
}

/** Settings as they may stand in a file. */
export function yamlText(settings: Readonly<Record<string, unknown>>): string {
  return stringify(settings, { lineWidth: 0 })
}
