// The client of the admin API that every command is, but for serve and those that work on a data
// directory. It finds the service by flag, by environment, or by what `serve` left in the directory.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { CommandFailed, type Invocation, WrongUsage } from './command.ts';

export type Row = Record<string, unknown>;

/** The service refused. `faults` are those of a refused document. */
export class Refused extends CommandFailed {
  override name = 'Refused';
  readonly faults: readonly Fault[];
  constructor(message: string, faults: readonly Fault[]) {
    super(message);
    this.faults = faults;
  }
}

export interface AdminClient {
  /** Where this machine reaches the service. */
  url: string;
  /** Paths are below /api/v1. All throw CommandFailed; Refused when the service answered with an error. */
  get(path: string, query?: Record<string, string | undefined>): Promise<Row>;
  post(path: string, body: Row): Promise<Row>;
  patch(path: string, body: Row): Promise<Row>;
  /** The rows of a list, a page at a time, no more than `limit` in all. */
  pages(path: string, query?: Record<string, string | undefined>, limit?: number): AsyncIterable<Row[]>;
}

interface Place {
  url: string;
  token: string;
  /** Found in the data directory: it is this machine, whatever name its certificate has. */
  isLocal: boolean;
}

/** A client for the service that the invocation names. Nothing is sent yet. */
export async function openClient(invocation: Invocation): Promise<AdminClient> {
  const place = await findService(invocation);
  const get: AdminClient['get'] = (path, query = {}) => ask(place, 'GET', withQuery(path, query));
  return {
    url: place.url,
    get,
    post: (path, body) => ask(place, 'POST', path, body),
    patch: (path, body) => ask(place, 'PATCH', path, body),
    async *pages(path, query = {}, limit = Number.POSITIVE_INFINITY) {
      let cursor: string | undefined;
      for (let left = limit; left > 0; ) {
        const page = await get(path, { ...query, limit: String(Math.min(left, bounds.pageItemsMax)), cursor });
        const rows = page['data'] as Row[];
        yield rows;
        left -= rows.length;
        cursor = (page['next_cursor'] as string | null) ?? undefined;
        if (cursor === undefined) return;
      }
    },
  };
}

async function findService({ flags, world }: Invocation): Promise<Place> {
  const config = world.readConfig(typeof flags['data'] === 'string' ? { data: flags['data'] } : {});
  const url = (flags['url'] as string | undefined) ?? config.adminUrl;
  const token = (flags['token'] as string | undefined) ?? config.adminToken;
  if (url !== null && token !== null) return { url: checkUrl(url), token, isLocal: false };
  // The local token is not sent to an address that someone else named.
  if (url !== null) throw new WrongUsage('--url needs a token beside it: --token or TURNPIKE_TOKEN');
  const local = await readLocal(join(config.dataDirectory, 'operator.json'));
  return token === null ? local : { ...local, token };
}

function checkUrl(url: string): string {
  if (!isHttpUrl(url)) throw new WrongUsage(`--url must be an address such as http://127.0.0.1:8080, not "${url}"`);
  return url.replace(/\/+$/, '');
}

function isHttpUrl(url: string): boolean {
  return /^https?:$/.test(URL.parse(url)?.protocol ?? '');
}

async function readLocal(path: string): Promise<Place> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new CommandFailed(`cannot read ${path}: ${message}`);
    throw new CommandFailed(
      `no service is running here: ${path} does not exist. Start one with "turnpike serve", or say where it is: --data, or --url and --token.`,
    );
  }
  try {
    const { url, token } = JSON.parse(text) as Partial<Place>;
    if (typeof url === 'string' && isHttpUrl(url) && typeof token === 'string') return { url, token, isLocal: true };
  } catch {
    // Not JSON: as unreadable as JSON without the two members.
  }
  throw new CommandFailed(`${path} is damaged: start the service again, it writes the file anew.`);
}

function withQuery(path: string, query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

async function ask(place: Place, method: string, path: string, body?: Row): Promise<Row> {
  const headers: Record<string, string> = { authorization: `Bearer ${place.token}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(`${place.url}/api/v1${path}`, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(bounds.adminAnswerWaitMs),
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(place.isLocal && { tls: { rejectUnauthorized: false } }),
    });
    text = await answer.text();
  } catch (thrown) {
    throw new CommandFailed(wordsOfNoAnswer(place.url, thrown));
  }
  const value = parseObject(text);
  if (value === null)
    throw new CommandFailed(`what answers at ${place.url} is not Turnpike's admin API (status ${answer.status})`);
  if (!answer.ok) throw refusal(value, answer.status);
  return value;
}

function wordsOfNoAnswer(url: string, thrown: unknown): string {
  const { name, message, code = '' } = thrown as NodeJS.ErrnoException;
  if (/CERT|UNABLE_TO_/.test(code))
    return `the certificate that ${url} shows is not accepted (${code}): it must be valid, name that host, and be signed by whom this machine trusts, or by one in the file that NODE_EXTRA_CA_CERTS names`;
  if (name === 'TimeoutError')
    return `${url} did not answer within ${bounds.adminAnswerWaitMs / 1000} seconds; whether it did what was asked is not known`;
  return `nothing answers at ${url} (${message}). Is the service running? Start it with "turnpike serve".`;
}

function parseObject(text: string): Row | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Row) : null;
  } catch {
    return null;
  }
}

function refusal(value: Row, status: number): Refused {
  const error = (value['error'] ?? {}) as { message?: string; faults?: Fault[] };
  const requestId = typeof value['request_id'] === 'string' && status >= 500 ? ` (${value['request_id']})` : '';
  return new Refused(
    `${error.message ?? `the service answered with status ${status}`}${requestId}`,
    error.faults ?? [],
  );
}
