/** A place in the configuration: keys and positions from the top. */
export type Path = readonly (string | number)[]

const plainKey = /^[A-Za-z_][\w-]*$/

/** `sinks[0].headers.Authorization`; keys with other characters are quoted. */
export function pathText(path: Path): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (plainKey.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(keyText(step))}]`
  }
  return text
}

/** The key may be a whole line such as "Authorization: Bearer …": shows only the name, not the secret after it. */
function keyText(key: string): string {
  const [name = ''] = key.slice(0, 100).split(/[\s:=]/, 1)
  return name === key ? key : `${name}…`
}

/** The value at a place; undefined where there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  const into = (held: unknown, step: string | number): unknown =>
    typeof held === 'object' && held !== null && Object.hasOwn(held, step)
      ? Reflect.get(held, step)
      : undefined
  return path.reduce(into, value)
}
