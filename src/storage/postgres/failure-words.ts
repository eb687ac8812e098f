// Explains to operators why a database cannot be used. The driver says little about failed connections, and the URL may contain
// a password, which must never appear in a message.

import { bounds } from '../../config/config.ts';

export interface DatabaseFailure {
  /**
   * `unreachable`: no response from PostgreSQL; `refused`: this role may not connect; `tls`; `failed`: the statement
   * or the connection afterwards.
   */
  kind: 'unreachable' | 'refused' | 'tls' | 'failed';
  words: string;
}

/** "shop at 127.0.0.1:5432". */
export function nameDatabase(url: string): string {
  const place = placeOf(url);
  return place === null ? 'at the given address' : `${decode(place.pathname.slice(1))} at ${place.host}`;
}

/** Describes an error of a connection to `url`, or of connecting. */
export function describeDatabaseFailure(thrown: unknown, url: string): DatabaseFailure {
  const failure = innermost(thrown);
  const { kind, words } = describe(failure, placeOf(url)?.host ?? 'the server');
  return { kind, words: withoutPassword(words, url) };
}

/**
 * Whether a database may be usable later without anybody changing a setting: it is not reachable, starts, stops, recovers, has no free
 * connection, or has no room (https://www.postgresql.org/docs/current/errcodes-appendix.html, classes 08, 53 and 57P). A pooler that
 * refuses settings (08P01) will refuse them later, too.
 */
export function isTemporary(thrown: unknown): boolean {
  const { code, errno } = innermost(thrown) as DriverError;
  if (typeof errno === 'string') return /^(?:08(?!P01)|53|57P0[1-5]|25006|55P03)/.test(errno);
  return BY_CODE[String(code)] === 'unreachable'
    ? code !== 'ERR_INVALID_URL'
    : code === 'ERR_POSTGRES_CONNECTION_CLOSED';
}

/** Describes a pooler that lends connections per transaction or statement. */
export function describeLending(mode: 'transaction' | 'statement'): string {
  return `it is a connection pooler in ${mode} mode, but nodes need persistent sessions: connect to PostgreSQL directly, or set pool_mode = session (PgBouncer)`;
}

interface DriverError {
  code?: unknown;
  errno?: unknown;
  message?: unknown;
}

const BY_CODE: Readonly<Record<string, DatabaseFailure['kind']>> = {
  ERR_INVALID_URL: 'unreachable',
  ERR_POSTGRES_CONNECTION_REFUSED: 'unreachable',
  ERR_POSTGRES_CONNECTION_FAILED: 'unreachable',
  ERR_POSTGRES_CONNECTION_TIMEOUT: 'unreachable',
  ERR_POSTGRES_TLS_NOT_AVAILABLE: 'tls',
};

function describe(failure: unknown, host: string): DatabaseFailure {
  const { code, errno, message } = failure as DriverError;
  if (/^unsupported startup parameter/.test(String(message)))
    return {
      kind: 'refused',
      words: `it is a connection pooler that rejects session settings (${message}): connect to PostgreSQL directly`,
    };
  if (typeof errno === 'string' && isRefusal(errno))
    return { kind: 'refused', words: `the server refuses the connection: ${message} (${errno})` };
  if (typeof errno === 'string') return { kind: 'failed', words: `the server reports: ${message} (${errno})` };
  if (failure instanceof URIError)
    return { kind: 'unreachable', words: 'part of the address is not percent-encoded correctly' };
  const kind = BY_CODE[String(code)] ?? (isOfCertificate(code, message) ? 'tls' : 'failed');
  return { kind, words: wordsOf(String(code), host) ?? String(message ?? failure) };
}

function wordsOf(code: string, host: string): string | null {
  switch (code) {
    case 'ERR_INVALID_URL':
      return 'the address is not a valid URL';
    case 'ERR_POSTGRES_CONNECTION_REFUSED':
      return `cannot connect to ${host}: nothing listens there, or the host name cannot be resolved`;
    case 'ERR_POSTGRES_CONNECTION_FAILED':
      return `${host} closed the connection before it was established: it is not ready, or not PostgreSQL`;
    case 'ERR_POSTGRES_CONNECTION_TIMEOUT':
      return `${host} does not answer within ${bounds.storeConnectSecondsMax} seconds`;
    case 'ERR_POSTGRES_CONNECTION_CLOSED':
      return 'the connection was lost';
    case 'ERR_POSTGRES_TLS_NOT_AVAILABLE':
      return `${host} does not support TLS, which the address requires (sslmode)`;
    default:
      return null;
  }
}

/** Role, password, database, connection limit, or a server that is starting or stopping. */
function isRefusal(errno: string): boolean {
  return /^(?:28|3D|08|57P0[0-9]|53300|42704$)/.test(errno);
}

function isOfCertificate(code: unknown, message: unknown): boolean {
  return /CERT|TLS|SSL|SIGNATURE|ISSUER/i.test(String(code)) || /certificate/i.test(String(message));
}

/** null also if an unencoded password breaks the URL: the host would contain part of it. */
function placeOf(url: string): URL | null {
  const place = URL.parse(url);
  return place === null || /[@#]/.test(place.pathname + place.search + place.hash) ? null : place;
}

function withoutPassword(words: string, url: string): string {
  const { password = '' } = URL.parse(url) ?? {};
  const spellings = [password, decode(password)].filter((spelling) => spelling !== '');
  return spellings.reduce((text, spelling) => text.replaceAll(spelling, '…'), words);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The driver's error within a wrapped one. */
function innermost(thrown: unknown): unknown {
  let failure = thrown;
  while (failure instanceof Error && failure.cause instanceof Error) failure = failure.cause;
  return failure;
}
