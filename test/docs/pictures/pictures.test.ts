import { readdirSync, readFileSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { projectFolder } from '../../setup/project-folder.ts'
import { pages } from '../pages.ts'
import { scenes } from './scenes.ts'

const folder = join('docs', 'pictures')
const mostBytes = 60_000

describe('pictures of terminals', () => {
  test('each scene has a picture, and a page shows it with an alternative text', () => {
    expect(
      readdirSync(join(projectFolder, folder))
        .filter((name) => name.endsWith('.svg'))
        .sort(),
    ).toEqual(scenes.map(({ name }) => `${name}.svg`).sort())
    const shown = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/!\[([^\]]{10,})\]\(([^)]+\.svg)\)/g)].map(([, , target = '']) =>
        normalize(join(dirname(path), target)),
      ),
    )
    expect(shown.sort()).toEqual(scenes.map(({ name }) => join(folder, `${name}.svg`)).sort())
  })

  test.for(scenes)(
    '$name is small and well-formed, has a title, and contains nothing of the machine',
    (scene) => {
      const svg = readFileSync(join(projectFolder, folder, `${scene.name}.svg`), 'utf8')
      expect(svg.length).toBeLessThan(mostBytes)
      expect(openTags(svg)).toEqual([])
      expect(svg).toContain(`<title id="title">${scene.title}</title>`)
      expect(svg).toContain('<desc id="description">')
      expect(svg).toContain('prefers-color-scheme:dark')
      expect(svg).not.toMatch(/<script|<image|href=/)
      // Paths of a person or a checkout, random ports, and secrets.
      expect(svg).not.toMatch(/\/(?:home|root|Users|work)\/|src\/cli|sl-pic-|accessKey|simulated"/)
      for (const own of [hostname(), homedir()].filter((text) => text.length > 2))
        expect(svg).not.toContain(own)
    },
  )
})

/** Tags that are not closed, and anything else that is no XML: empty for a well-formed document of this kind. */
function openTags(xml: string): string[] {
  const open: string[] = []
  const wrong: string[] = []
  const piece = /<(\/?)([a-z]+)((?: [\w:-]+="[^"<&]*")*)(\/?)>|([^<]+)|(<)/gi
  for (const [found, isEnd, name = '', , isEmpty, text] of xml.matchAll(piece)) {
    if (text !== undefined && !/&(?!(?:amp|lt|gt|quot);)/.test(text)) continue
    if (name === '') wrong.push(found)
    else if (isEnd === '/' && open.pop() !== name) wrong.push(found)
    else if (isEnd === '' && isEmpty === '') open.push(name)
  }
  return [...wrong, ...open]
}
