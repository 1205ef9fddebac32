import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unpack } from '../../sinks/http/destination-server.ts'
import { ask, linesIn, startServer, type Intake, type IntakeServer } from '../intake.ts'

/** Basic credentials of a server behind `startGate`, as settings of a sink. */
export const gateUser = { username: 'shieldlog', password: 'intake-password' }
const login = `${gateUser.username}:${gateUser.password}`
const authorization = `Basic ${Buffer.from(login).toString('base64')}`
export const wrongPassword = { 'a wrong password': { password: 'another-password' } }

/** nginx with Basic authentication in front of a server that has none. */
export async function startGate(target: string): Promise<string> {
  const { url } = await startNginx(() => `location / { ${asksForUser} proxy_pass ${target}; }`)
  return url
}

const asksForUser = 'auth_basic intake; auth_basic_user_file users;'

/** An HTTP endpoint: what was answered 200 is kept, with its path. */
export interface Endpoint {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The bodies that were taken below a path, as text. */
  taken(path: string): string[]
}

/**
 * /in takes all, /small takes bodies of up to 16 kB (413), /slow takes two bodies a second (429 with Retry-After). Each
 * asks for a user.
 */
export async function startEndpoint(): Promise<Endpoint> {
  const { url, folder } = await startNginx(
    (inner) => `
      location /in { ${asksForUser} proxy_pass ${inner}; }
      location /small { ${asksForUser} client_max_body_size 16k; proxy_pass ${inner}; }
      location /slow {
        ${asksForUser} limit_req zone=bodies; limit_req_status 429; error_page 429 @later; proxy_pass ${inner};
      }
      location @later { add_header Retry-After 1 always; return 429; }`,
  )
  const file = join(folder, 'bodies.jsonl')
  return { url, headers: { Authorization: authorization }, taken: (path) => bodiesIn(file, path) }
}

export const nginx: IntakeServer = {
  name: 'nginx',
  dropsDuplicates: false,
  withoutRights: {
    'a wrong password': { headers: { Authorization: 'Basic d3Jvbmc6d3Jvbmc=' } },
    'no credentials': { headers: {} },
  },
  async start() {
    const endpoint = await startEndpoint()
    let places = 0
    return () => endpointIntake(endpoint, `/in/${++places}`)
  },
}

/** A path of the endpoint as an intake. */
export function endpointIntake(
  { url, headers, taken }: Endpoint,
  path: string,
  preset: 'ndjson' | 'json' = 'ndjson',
): Intake {
  const eventsIn = (body: string) => {
    const array = preset === 'json' ? body : `[${body.trimEnd().replaceAll('\n', ',')}]`
    return JSON.parse(array) as { id: string }[]
  }
  return {
    url,
    sinkAt: (to) => ({ type: 'http', preset, url: to + path, headers }),
    stored: async () => taken(path).flatMap((body) => eventsIn(body).map(({ id }) => id)),
  }
}

async function startNginx(locations: (inner: string) => string) {
  return await startServer(
    (port, folder, inner) => {
      writeFileSync(join(folder, 'users'), `${gateUser.username}:{PLAIN}${gateUser.password}\n`)
      const file = join(folder, 'nginx.conf')
      writeFileSync(file, configuration(port, inner, folder, locations(`http://127.0.0.1:${inner}`)))
      return { command: 'nginx', args: ['-p', folder, '-c', file, '-e', join(folder, 'error.log')] }
    },
    async (url) => (await ask(`${url}/`)).status < 500,
  )
}

function configuration(port: number, inner: number, folder: string, locations: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
  // One process, so that it ends with the test.
  return `daemon off; master_process off; pid ${folder}/nginx.pid;
events {}
http {
  ${temporary}
  client_max_body_size 50m; client_body_buffer_size 20m;
  limit_req_zone $server_name zone=bodies:1m rate=2r/s;
  log_format body escape=json '{"path":"$uri","encoding":"$http_content_encoding","body":"$request_body"}';
  map $request_method:$status $is_taken { POST:200 1; default 0; }
  access_log off;
  server { listen 127.0.0.1:${inner}; location / { return 200; } }
  server {
    listen 127.0.0.1:${port};
    access_log ${folder}/bodies.jsonl body if=$is_taken;
    ${locations}
  }
}
`
}

/** nginx writes a byte of a body as a character of its log, whatever it is. */
function bodiesIn(file: string, path: string): string[] {
  return linesIn(file, 'latin1')
    .map((line) => JSON.parse(line) as { path: string; encoding: string; body: string })
    .filter((taken) => taken.path === path)
    .map(({ encoding, body }) => unpack(Buffer.from(body, 'latin1'), encoding).toString())
}
