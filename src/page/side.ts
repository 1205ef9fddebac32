import { countOf, countText, sumOf } from '../domain/text/terminal-text.ts'
import { durationText, fromNow } from '../domain/text/time.ts'
import type { MapView } from '../status/map.ts'
import { html, type Html } from './html.ts'
import { isolated, quiet, table } from './parts.ts'
import { bytesText, present, secondsBetween } from './texts.ts'

/** Backfills, dead letters, processes and queues. */
export function sideSections({ backfills, deadLetters, workers, queues, pauses, at }: MapView): Html {
  const refused = deadLetters.map(({ sink, reason, count, bytes }) => {
    return [sink, reason, countText(count), bytesText(bytes)]
  })
  return html`<section id="backfills" aria-labelledby="backfills-title">
    <h2 id="backfills-title">Backfills</h2>
    ${backfills.length === 0 ? quiet('None in the last day.') : backfills.map((each) => backfillItem(each, at))}
  </section>
  <section id="dead-letters" aria-labelledby="dead-letters-title">
    <div class="title">
      <h2 id="dead-letters-title">Dead letters</h2>
      <p class="metrics"><code>shieldlog_dead_letters</code></p>
    </div>
    ${
      refused.length === 0
        ? quiet('None.')
        : [
            table(['sink', 'reason', '#events', '#size'], refused),
            quiet(html`The events themselves: <code>shieldlog dead-letters show</code>`),
          ]
    }
  </section>
  <section id="processes" aria-labelledby="processes-title">
    <div class="title">
      <h2 id="processes-title">Processes and queues</h2>
      <p class="metrics"><code>shieldlog_queue_jobs</code> · <code>shieldlog_api_throttled_total</code></p>
    </div>
    ${processTable(workers, at)} ${queueTable(queues)} ${pauseList(pauses, at)}
  </section>`
}

function backfillItem(backfill: MapView['backfills'][number], at: string): Html {
  const { id, from, to, state, days, createdAt, leftOut, errors } = backfill
  const share = state === 'done' ? 1 : backfill.share
  const events = sumOf(days, 'events')
  const tookSeconds = Math.max(1, secondsBetween(createdAt, at))
  const rate = events / tookSeconds
  const left = tookSeconds * (1 / share - 1)
  const isRunning = state === 'running'
  const facts = [
    state === 'done' ? 'done' : `${Math.floor(share * 100)} %${isRunning ? '' : `, ${state}`}`,
    countOf(events, 'event'),
    isRunning && events > 0 && `${rate.toFixed(rate < 10 ? 1 : 0)}/s`,
    isRunning && share > 0 && `about ${durationText(left < 90 ? left : Math.round(left / 60) * 60)} left`,
    leftOut > 0 && `${countOf(leftOut, 'stream')} left out`,
  ]
  const [error] = errors
  return html`<div class="backfill">
    <h3>${isolated(`Backfill ${id}`)} ${from === to ? from : `${from} to ${to}`}</h3>
    <progress max="100" value="${Math.floor(share * 100)}" aria-label="Backfill ${id}"></progress>
    <p>${present(facts, ' · ')}</p>
    ${
      error !== undefined &&
      html`<p class="error">${isolated(error.message)} (zone ${error.zone}, ${error.day}; next try ${fromNow(error.retryAt, at)})</p>`
    }
  </div>`
}

function processTable(workers: MapView['workers'], at: string): Html {
  if (workers.length === 0) return quiet('No process ships.')
  const rows = workers.map(({ role, name, pid, host, startedAt }) => [
    role,
    pid === undefined || host === undefined ? name : `${pid} on ${host}`,
    startedAt === undefined ? '-' : durationText(secondsBetween(startedAt, at)),
  ])
  return table(['role', 'process', 'running for'], rows)
}

function queueTable(queues: MapView['queues']): Html {
  const states = ['waiting', 'active', 'delayed']
  const rows = ['live', 'backfill'].map((priority) => {
    const own = queues.filter((each) => each.priority === priority)
    return [
      priority,
      ...states.map((name) =>
        countText(
          sumOf(
            own.filter(({ state }) => state === name),
            'jobs',
          ),
        ),
      ),
    ]
  })
  return table(['queue', ...states.map((state) => `#${state}`)], rows)
}

function pauseList(pauses: MapView['pauses'], at: string): Html {
  if (pauses.length === 0) return quiet('The API asks no account to pause.')
  const items = pauses.map(({ account, until }) => {
    return html`<li>account ${isolated(account)} pauses until ${until.slice(11, 19)} (${fromNow(until, at)})</li>`
  })
  return html`<ul class="plain">${items}</ul>`
}
