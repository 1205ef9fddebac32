import type { TestProcess } from '../setup/processes.ts'

/** What a running process says of itself over HTTP. */
export interface Probe {
  /** Every value of a metric by its labels, such as `zone="101",sink="archive"`. */
  metric(name: string): Promise<ReadonlyMap<string, number>>
  /** The sum over all label sets. */
  total(name: string): Promise<number>
  get(path: string): Promise<{ readonly status: number; readonly text: string }>
}

export function probeAt(address: string): Probe {
  const get = async (path: string) => {
    const answer = await fetch(`${address}${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  const metric = async (name: string) => {
    const { text } = await get('/metrics')
    const lines = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)]
    return new Map(
      lines.flatMap(([, found, labels = '', value]) =>
        found === `shieldlog_${name}` ? [[labels, Number(value)] as const] : [],
      ),
    )
  }
  return {
    get,
    metric,
    async total(name) {
      let total = 0
      for (const value of (await metric(name)).values()) total += value
      return total
    },
  }
}

/** Of a process, once it listens. */
export async function probeOf(child: TestProcess): Promise<Probe> {
  const [, address] = await child.waitForLine(/"event":"ServerListening".*"address":"([^"]+)"/)
  return probeAt(address!)
}
