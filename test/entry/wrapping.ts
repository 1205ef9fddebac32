import { setImmediate as turn } from 'node:timers/promises'
import { subscribe } from 'node:diagnostics_channel'
import { DatabaseSync } from 'node:sqlite'
import type { Engine } from '../../src/assemble/daemon/engine.ts'
import type { Store } from '../../src/ports/store.ts'
import type { OpenStream } from '../../src/ports/delivery.ts'
import type { Passing } from './steps.ts'
import { wrapFiles } from './wrap-files.ts'

/** Has the ports of a ready assembly pass by each step; they stay the very parts that they were. */
export function wrapShipping({ source, sinks }: Ports, pass: Passing): void {
  const fetchPage = source.fetchPage.bind(source)
  source.fetchPage = async (request, signal) => {
    pass('before', 'fetch')
    const page = await fetchPage(request, signal)
    pass('after', 'normalise')
    return page
  }
  for (const sink of sinks.values()) {
    const around = passingBy(pass, sink.name)
    const wrapped = (opened: OpenStream) => ({ ...opened, deliver: around(opened.deliver.bind(opened)) })
    if ('reconcile' in sink) {
      const reconcile = sink.reconcile.bind(sink)
      sink.reconcile = async (...args) => wrapped(await reconcile(...args))
    } else {
      const open = sink.open.bind(sink)
      sink.open = async (...args) => wrapped(await open(...args))
    }
  }
}

type Deliver = OpenStream['deliver']

function passingBy(pass: Passing, sink: string): (deliver: Deliver) => Deliver {
  return (deliver) => async (events, signal) => {
    pass('before', 'deliver', sink)
    const delivery = await deliver(events, signal)
    pass('after', 'deliver', sink)
    return delivery
  }
}

interface Ports {
  readonly source: Engine['shipping']['reading']['source']
  readonly sinks: Engine['shipping']['sinks']
}

export function wrapStore(store: Store, pass: Passing): void {
  const commit = store.ledger.commit.bind(store.ledger)
  store.ledger.commit = async (given) => {
    const { sink } = given.next.stream
    pass('before', 'commit', sink)
    const answer = commit(given)
    answer.catch(() => undefined)
    // It is on its way to a store that is another process; what lies in the same process has it by now.
    await turn()
    pass('amid', 'commit', sink)
    const committed = await answer
    pass('after', 'commit', sink)
    return committed
  }
  const add = store.backfills.add.bind(store.backfills)
  store.backfills.add = async (backfill) => {
    pass('before', 'backfill')
    await add(backfill)
    pass('amid', 'backfill')
  }
}

/** What is no port: what becomes of files, requests and transactions. */
export async function wrapSystem(pass: Passing): Promise<void> {
  wrapRequests(pass)
  wrapTransactions(pass)
  await wrapFiles(pass)
}

interface Requested {
  readonly request: { readonly method: string }
}

/** Steps of requests that no port shows: a page that is whole but not looked at yet, and a body on its way to a sink. */
function wrapRequests(pass: Passing): void {
  const on = (channel: string, method: 'GET' | 'POST', happened: () => void) =>
    subscribe(`undici:request:${channel}`, (message) => {
      if ((message as Requested).request.method === method) happened()
    })
  on('trailers', 'GET', () => {
    pass('after', 'fetch')
    pass('before', 'normalise')
  })
  on('create', 'POST', () => pass('before', 'post'))
  on('bodySent', 'POST', () => pass('amid', 'post'))
  on('trailers', 'POST', () => pass('after', 'post'))
}

/** The end of a transaction of an embedded store. */
function wrapTransactions(pass: Passing): void {
  const exec = DatabaseSync.prototype.exec
  DatabaseSync.prototype.exec = function (sql) {
    if (sql === 'COMMIT') pass('before', 'transaction')
    exec.call(this, sql)
    if (sql === 'COMMIT') pass('after', 'transaction')
  }
}
