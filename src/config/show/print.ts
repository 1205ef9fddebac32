import { Document, type Node, isCollection, isMap, isScalar, isSeq, stringify } from 'yaml'
import type { Origin } from '../load/layers.ts'
import { isScalarList } from '../schema/leaves.ts'
import type { Loaded } from '../load/load.ts'
import { type Path, pathText } from '../schema/path.ts'

/** The settings in force as YAML, each with its origin as a comment. Secrets are masked. */
export function effectiveYaml({ effective, origins, file }: Loaded): string {
  const document = new Document(effective, { version: '1.2' })
  comment(document.contents, [], origins)
  document.commentBefore = file === undefined ? ' no file' : ` file: ${file}`
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

function comment(node: Node | null, path: Path, origins: ReadonlyMap<string, Origin>): void {
  if (node === null) return
  const isLeaf = isScalar(node) || (isCollection(node) && isScalarList(node.toJSON()))
  if (isLeaf) {
    const origin = origins.get(pathText(path))
    if (origin !== undefined) node.comment = ` ${originText(origin)}`
    if (isCollection(node)) node.flow = true
  } else if (isSeq<Node>(node)) node.items.forEach((item, index) => comment(item, [...path, index], origins))
  else if (isMap<Node, Node | null>(node))
    for (const { key, value } of node.items)
      comment(value, [...path, String(isScalar(key) ? key.value : key)], origins)
}

function originText({ source, where }: Origin): string {
  return where === undefined ? source : `${source} ${where}`
}

/** Settings as they may stand in a file. */
export function yamlText(settings: Readonly<Record<string, unknown>>): string {
  return stringify(settings, { lineWidth: 0 })
}
