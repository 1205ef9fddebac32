import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createNativeFormat } from '../../src/formats/native.ts'
import { buildEvent } from '../formats/events.ts'
import { expectExported, metrics } from '../prometheus/exported-metrics.ts'
import { groupedBy, metricsIn } from '../prometheus/expressions.ts'
import { projectFolder } from '../setup/project-folder.ts'
import { presetWith } from '../sinks/http/presets/dialects.ts'
import { leaves } from './leaves.ts'

interface Panel {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly datasource: { readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[]
}

interface Dashboard {
  readonly uid: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string }[] }
}

const health = readDashboard('shieldlog-health')
const events = readDashboard('shieldlog-events')
const target = ['namespace', 'job', 'instance']

describe('the dashboard of health', () => {
  test('every query is of the chosen namespace, job and instance, and averages over none of them', () => {
    const names = health.templating.list.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(target))
    const own = target.map((name) => `${name}=~"$${name}"`).join()
    for (const { expr } of health.panels.flatMap(({ targets }) => targets)) {
      expect(expr.split(`{${own}`)).toHaveLength(metricsIn(expr).length + 1)
      // What is counted is told for each of them, or for all that are chosen.
      for (const [list] of expr.matchAll(/by \([^)]*\)/g)) expect(list).toMatch(/\(namespace, job\b/)
    }
  })

  test.each(health.panels)(
    '$title uses metrics, labels and values that exist',
    ({ targets, description }) => {
      expect(description).toMatch(/\.$/)
      for (const { expr } of targets) {
        const asked = metricsIn(expr)
        expect(asked.length).toBeGreaterThan(0)
        expectExported(asked)
        const labels = asked.flatMap(({ metric }) => Object.keys(metrics.get(metric)?.labels ?? {}))
        for (const label of groupedBy(expr)) expect([...labels, ...target, 'le']).toContain(label)
      }
    },
  )
})

describe('the dashboard of events in Loki', () => {
  const preset = presetWith({ preset: 'loki', url: 'http://loki.example' })
  const event = buildEvent()
  const { stream } = JSON.parse(`${preset.layout.group!(event).before}]}`) as { stream: object }
  const [, , metadata] = JSON.parse(preset.piece(event, '{}')) as [string, string, object]
  const labels = Object.keys(stream)
  const written = [...labels, ...Object.keys(metadata)]
  const native = leaves(JSON.parse(createNativeFormat().encode(event))).map(([name]) => name)

  test.each(events.panels)('$title uses labels, metadata and fields that shieldlog writes', ({ targets }) => {
    for (const { expr } of targets) {
      const [, selector = '', pipeline = ''] = /\{([^}]*)\}(.*)$/.exec(expr)!
      const selected = [...selector.matchAll(/(\w+)=/g)].map(([, label]) => label)
      expect(labels).toEqual(expect.arrayContaining(selected))
      const extracted = [...pipeline.matchAll(/(\w+)="([\w.]+)"/g)].map(([, name, field]) => ({
        name,
        field,
      }))
      expect(native).toEqual(expect.arrayContaining(extracted.map(({ field }) => field)))
      const made = [...pipeline.matchAll(/label_format (\w+)=/g)].map(([, name]) => name)
      const known = [...written, ...extracted.map(({ name }) => name), ...made]
      const asked = [...pipeline.matchAll(/\| (\w+) !=|\.([a-z_]\w*)(?=[ }])/g)].map(
        ([, left, right]) => left ?? right,
      )
      expect(known).toEqual(expect.arrayContaining([...groupedBy(expr), ...asked]))
    }
  })
})

function readDashboard(name: string): Dashboard {
  return JSON.parse(readFileSync(join(projectFolder, 'config/grafana', `${name}.json`), 'utf8')) as Dashboard
}
