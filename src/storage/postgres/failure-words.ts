// Why a database cannot be used, in words for who runs the service. The driver says little of a connection that it does not get,
// and the address may hold a password, which is never in what is said.

import { bounds } from '../../config.ts';

export interface DatabaseFailure {
  /** `unreachable`: no answer of a PostgreSQL; `refused`: it does not let this role in; `tls`; `failed`: what was asked, or the connection since. */
  kind: 'unreachable' | 'refused' | 'tls' | 'failed';
  words: string;
}

/** "shop at 127.0.0.1:5432". */
export function nameDatabase(url: string): string {
  const place = placeOf(url);
  return place === null ? 'of that address' : `${decode(place.pathname.slice(1))} at ${place.host}`;
}

/** What was thrown over a connection to `url`, or in the attempt to have one. */
export function describeDatabaseFailure(thrown: unknown, url: string): DatabaseFailure {
  const failure = innermost(thrown);
  const { kind, words } = describe(failure, placeOf(url)?.host ?? 'the server');
  return { kind, words: withoutPassword(words, url) };
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
  if (typeof errno === 'string' && isRefusal(errno))
    return { kind: 'refused', words: `the server refuses the connection: ${message} (${errno})` };
  if (typeof errno === 'string') return { kind: 'failed', words: `the server says: ${message} (${errno})` };
  if (failure instanceof URIError)
    return { kind: 'unreachable', words: 'a part of the address is not percent-encoded as it must be' };
  const kind = BY_CODE[String(code)] ?? (isOfCertificate(code, message) ? 'tls' : 'failed');
  return { kind, words: wordsOf(String(code), host) ?? String(message ?? failure) };
}

function wordsOf(code: string, host: string): string | null {
  switch (code) {
    case 'ERR_INVALID_URL':
      return 'the address cannot be read';
    case 'ERR_POSTGRES_CONNECTION_REFUSED':
      return `no connection to ${host} can be made: nothing listens there, or the name leads nowhere`;
    case 'ERR_POSTGRES_CONNECTION_FAILED':
      return `${host} ended the connection before it was made: it is not ready, or no PostgreSQL`;
    case 'ERR_POSTGRES_CONNECTION_TIMEOUT':
      return `${host} does not answer within ${bounds.storeConnectSecondsMax} seconds`;
    case 'ERR_POSTGRES_CONNECTION_CLOSED':
      return 'the connection was lost';
    case 'ERR_POSTGRES_TLS_NOT_AVAILABLE':
      return `${host} takes no TLS, and the address asks for it (sslmode)`;
    default:
      return null;
  }
}

/** Role, password, database, how many may come, and a server that starts or stops. */
function isRefusal(errno: string): boolean {
  return /^(?:28|3D|08|57P0[0-9]|53300|42704$)/.test(errno);
}

function isOfCertificate(code: unknown, message: unknown): boolean {
  return /CERT|TLS|SSL|SIGNATURE|ISSUER/i.test(String(code)) || /certificate/i.test(String(message));
}

/** Null also where an address was taken apart wrongly, with a password that is not encoded: its host is a part of that. */
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

/** What the driver threw, inside of what was made of it. */
function innermost(thrown: unknown): unknown {
  let failure = thrown;
  while (failure instanceof Error && failure.cause instanceof Error) failure = failure.cause;
  return failure;
}
