import { expect, test } from 'vitest'
import { openWorkshopWithApi } from './workshop.ts'

test('entries with names that shieldlog does not know stand in status', async () => {
  const workshop = await openWorkshopWithApi(
    { zones: [101], days: 20, changeEntries: ['new-names', 'listed-labels'] },
    { zones: [101] },
  )
  const what =
    'the API lists entries with members that shieldlog does not know (newMember), labels of another shape (a list)'
  await workshop.execute('run', '--once')
  const status = await workshop.execute('status')
  expect(status.stdout.replaceAll(/\s+/g, ' ')).toContain(`101 → archive: since`)
  expect(status.stdout.replaceAll(/\s+/g, ' ')).toContain(`${what}.`)
  const { problems, routes } = JSON.parse((await workshop.execute('status', '--json')).stdout) as {
    problems: { kind: string }[]
    routes: { unexpected: object }[]
  }
  expect(problems.map(({ kind }) => kind)).toContain('unexpected')
  expect(routes[0]?.unexpected).toMatchObject({ names: { member: ['newMember'], labels: ['a list'] } })
})
