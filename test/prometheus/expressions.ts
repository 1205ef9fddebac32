/** One metric in an expression, with what is asked of its labels. */
export interface Asked {
  readonly metric: string
  /** Labels in braces, with the operator and value of each. */
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[]
}

const words = new Set(
  'sum max min avg count topk vector by without on ignoring group_left and or unless absent rate increase delta abs time offset bool min_over_time last_over_time histogram_quantile ALERTS'.split(
    ' ',
  ),
)

/** The metrics that an expression of PromQL names. Throws for a word it does not know: a function that is misspelt. */
export function metricsIn(expression: string): Asked[] {
  const bare = withoutLabelLists(expression).replaceAll(/\[[$\w]+\]|\boffset \w+/g, '')
  return [...bare.matchAll(/(?<![\w"])([a-z_][a-z0-9_]*)\s*(?:\{([^}]*)\})?(?!\w)/g)].flatMap(
    ([, word = '', braces = ''], at, found) => {
      if (isInsideBraces(bare, found[at]!.index)) return []
      if (words.has(word)) return []
      if (!/^(shieldlog|process|nodejs)_|^up$/.test(word)) throw new Error(`${word} is no function or metric`)
      return [{ metric: word, matchers: matchersIn(braces) }]
    },
  )
}

/** Labels that an expression groups by or joins on. */
export function groupedBy(expression: string): string[] {
  const lists = [...expression.matchAll(/\b(?:by|on|without|ignoring)\s*\(([^)]*)\)/g)]
  return lists.flatMap(([, list = '']) => list.split(',').map((label) => label.trim()))
}

/** Labels that a text for people takes from the alert. */
export function labelsInText(text: string): string[] {
  return [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label)
}

function withoutLabelLists(expression: string): string {
  return expression.replaceAll(/\b(by|on|without|ignoring|group_left)\s*\([^)]*\)/g, '$1 ')
}

function matchersIn(braces: string): Asked['matchers'] {
  return [...braces.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(
    ([, label = '', operator = '', value = '']) => ({ label, operator, value }),
  )
}

function isInsideBraces(text: string, at: number): boolean {
  const before = text.slice(0, at)
  return before.lastIndexOf('{') > before.lastIndexOf('}')
}
