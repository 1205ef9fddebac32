interface NamedProcess {
  readonly pid: number
  readonly host: string
  /** ISO 8601. */
  readonly startedAt: string
}

export function processName({ pid, host, startedAt }: NamedProcess): string {
  return `process ${pid} on host ${host}, since ${startedAt}`
}

/** Undefined for a text of another form. */
export function readProcessName(text: string): NamedProcess | undefined {
  const [, pid, host = '', startedAt = ''] =
    /^process (\d+) on host (.+), since (\d{4}-\S+)$/.exec(text) ?? []
  return pid === undefined ? undefined : { pid: Number(pid), host, startedAt }
}
