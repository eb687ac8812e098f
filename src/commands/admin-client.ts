// The client of the admin API. It finds the service by flag, by environment, or by the file that `serve` writes into
// the data directory.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { CommandFailed, type Invocation, WrongUsage } from './command.ts';

export type Row = Record<string, unknown>;

/** The service answered with an error. `faults` are those of a refused `apply` document. */
export class Refused extends CommandFailed {
  override name = 'Refused';
  readonly faults: readonly Fault[];
  constructor(message: string, faults: readonly Fault[]) {
    super(message);
    this.faults = faults;
  }
}

export interface AdminClient {
  url: string;
  /** Paths are below /api/v1. All throw CommandFailed, or Refused for an error of the service. */
  get(path: string, query?: Record<string, string | undefined>): Promise<Row>;
  post(path: string, body: Row): Promise<Row>;
  /** For a request that may take minutes. */
  postSlowly(path: string, body: Row): Promise<Row>;
  patch(path: string, body: Row): Promise<Row>;
  /** The bytes of a file, in pieces. Also throws CommandFailed if it ends before it is complete. */
  download(path: string, query: Record<string, string | undefined>): AsyncIterable<Uint8Array>;
  /** Sends a CSV file as it is read. */
  upload(path: string, file: string): Promise<Row>;
  /**
   * The rows of a list, page by page, at most `limit` in all. Reports on stderr when not all records were compared,
   * once: further pages compare the same records.
   */
  pages(path: string, query?: Record<string, string | undefined>, limit?: number): AsyncIterable<Row[]>;
}

interface ServiceAddress {
  url: string;
  token: string;
  /** Read from the data directory. The service is on this machine, so the name in its certificate is not checked. */
  isLocal: boolean;
}

/** A client for the service that the flags name. Sends nothing yet. */
export async function openClient(invocation: Invocation): Promise<AdminClient> {
  const service = await findService(invocation);
  const get: AdminClient['get'] = (path, query = {}) => request(service, 'GET', withQuery(path, query));
  return {
    url: service.url,
    get,
    post: (path, body) => request(service, 'POST', path, body),
    postSlowly: (path, body) => sendJson(service, 'POST', path, body, bounds.billUploadMsMax),
    patch: (path, body) => request(service, 'PATCH', path, body),
    download: (path, query) => download(service, withQuery(path, query)),
    upload: (path, file) => sendFile(service, path, file),
    async *pages(path, query = {}, limit = Number.POSITIVE_INFINITY) {
      let cursor: string | undefined;
      let isReported = false;
      for (let left = limit; left > 0; ) {
        const page = await get(path, { ...query, limit: String(Math.min(left, bounds.pageItemsMax)), cursor });
        const rows = page['data'] as Row[];
        const { searched_since: since = null } = page;
        if (since !== null && !isReported)
          await invocation.world.writeError(`Only records since ${since} were compared.\n`);
        isReported ||= since !== null;
        yield rows;
        left -= rows.length;
        cursor = (page['next_cursor'] as string | null) ?? undefined;
        if (cursor === undefined) return;
      }
    },
  };
}

async function findService({ flags, world }: Invocation): Promise<ServiceAddress> {
  const config = world.readClientConfig(typeof flags['data'] === 'string' ? { data: flags['data'] } : {});
  const url = (flags['url'] as string | undefined) ?? config.adminUrl;
  const token = (flags['token'] as string | undefined) ?? config.adminToken;
  if (url !== null && token !== null) return { url: checkUrl(url), token, isLocal: false };
  // The local token is never sent to an address from elsewhere.
  if (url !== null) throw new WrongUsage('--url needs a token: --token or TURNPIKE_TOKEN');
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

async function readLocal(path: string): Promise<ServiceAddress> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new CommandFailed(`cannot read ${path}: ${message}`);
    throw new CommandFailed(
      `no service is running here: ${path} does not exist. Start one with "turnpike serve", or specify one with --data, or with --url and --token.`,
    );
  }
  try {
    const { url, token } = JSON.parse(text) as Partial<ServiceAddress>;
    if (typeof url === 'string' && isHttpUrl(url) && typeof token === 'string') return { url, token, isLocal: true };
  } catch {
    // Not JSON: the error below.
  }
  throw new CommandFailed(`${path} is damaged: restart the service, which rewrites the file.`);
}

function withQuery(path: string, query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

function request(service: ServiceAddress, method: string, path: string, body?: Row): Promise<Row> {
  return sendJson(service, method, path, body, bounds.adminAnswerWaitMs);
}

function sendJson(service: ServiceAddress, method: string, path: string, body: Row | undefined, waitMs: number) {
  const sent = body === undefined ? null : { type: 'application/json', body: JSON.stringify(body) };
  return send(service, method, path, sent, waitMs);
}

async function sendFile(service: ServiceAddress, path: string, name: string): Promise<Row> {
  const file = Bun.file(name);
  if (!(await file.exists())) throw new CommandFailed(`cannot read ${name}: it is not a file`);
  return send(service, 'POST', path, { type: 'text/csv', body: file }, bounds.billUploadMsMax);
}

async function send(
  service: ServiceAddress,
  method: string,
  path: string,
  sent: { type: string; body: string | Blob } | null,
  waitMs: number,
): Promise<Row> {
  const headers: Record<string, string> = { authorization: `Bearer ${service.token}` };
  if (sent !== null) headers['content-type'] = sent.type;
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(`${service.url}/api/v1${path}`, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(waitMs),
      ...(sent !== null && { body: sent.body }),
      ...(service.isLocal && { tls: { rejectUnauthorized: false } }),
    });
    text = await answer.text();
  } catch (thrown) {
    throw new CommandFailed(connectionErrorText(service.url, thrown, waitMs));
  }
  const value = parseObject(text);
  if (value === null)
    throw new CommandFailed(`the server at ${service.url} is not Turnpike's admin API (status ${answer.status})`);
  if (!answer.ok) throw refusal(value, answer.status);
  return value;
}

/** A file may take long to make, but something comes within the time of an answer. */
async function* download(service: ServiceAddress, path: string): AsyncGenerator<Uint8Array> {
  const waiting = new AbortController();
  const late = () => waiting.abort(new DOMException('no bytes', 'TimeoutError'));
  let timer = setTimeout(late, bounds.exportFirstByteMsMax);
  try {
    const answer = await fetch(`${service.url}/api/v1${path}`, {
      headers: { authorization: `Bearer ${service.token}` },
      redirect: 'manual',
      signal: waiting.signal,
      ...(service.isLocal && { tls: { rejectUnauthorized: false } }),
    });
    if (!answer.ok || answer.headers.get('content-disposition') === null) {
      const value = parseObject(await answer.text());
      if (value === null)
        throw new CommandFailed(`the server at ${service.url} is not Turnpike's admin API (status ${answer.status})`);
      throw refusal(value, answer.status);
    }
    for await (const piece of answer.body ?? []) {
      clearTimeout(timer);
      yield piece;
      timer = setTimeout(late, bounds.exportFirstByteMsMax);
    }
  } catch (thrown) {
    throw thrown instanceof CommandFailed
      ? thrown
      : new CommandFailed(connectionErrorText(service.url, thrown, bounds.exportFirstByteMsMax));
  } finally {
    clearTimeout(timer);
  }
}

function connectionErrorText(url: string, thrown: unknown, waitMs: number): string {
  const { name, message, code = '' } = thrown as NodeJS.ErrnoException;
  if (/CERT|UNABLE_TO_/.test(code))
    return `the certificate of ${url} is not trusted (${code}): it must be valid, match the host name, and be signed by an authority that this machine trusts or that is in the file NODE_EXTRA_CA_CERTS`;
  if (name === 'TimeoutError')
    return `${url} did not answer within ${waitMs / 1000} seconds; the request may or may not have been processed`;
  return `cannot connect to ${url} (${message}). Is the service running? Start it with "turnpike serve".`;
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
    `${error.message ?? `the service responded with status ${status}`}${requestId}`,
    error.faults ?? [],
  );
}
