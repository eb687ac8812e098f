// IP address and scheme of the client: of the socket's peer, or as a trusted proxy reports them.

import { type AddressRange, isInRanges, parseAddress } from '../base/addresses.ts';
import { bounds } from '../config/config.ts';
import type { Connection } from './serve-http.ts';

/** The client's address without port. Reads `x-forwarded-for` from the right, through trusted proxies only. */
export function clientAddress(peer: string, headers: Headers, trusted: readonly AddressRange[]): string {
  if (trusted.length === 0) return peer;
  const forwarded = headers.get('x-forwarded-for');
  if (forwarded === null) return peer;
  const named = forwarded.split(',');
  let address = peer;
  for (let hops = 0; hops < bounds.forwardedHopsMax; hops++) {
    const parsed = parseAddress(address);
    if (parsed === null || !isInRanges(parsed, trusted)) return address;
    const before = stripPort(named.pop() ?? '');
    // Stops at a proxy that reports no valid address.
    if (parseAddress(before) === null) return address;
    address = before;
  }
  return address;
}

/** Whether the client uses TLS: to this service, or to a trusted proxy according to `x-forwarded-proto`. */
export function isOverTls(connection: Connection, headers: Headers, trusted: readonly AddressRange[]): boolean {
  if (connection.isTls) return true;
  if (trusted.length === 0) return false;
  const forwarded = headers.get('x-forwarded-proto');
  if (forwarded === null) return false;
  const peer = parseAddress(connection.address);
  if (peer === null || !isInRanges(peer, trusted)) return false;
  return forwarded.split(',').pop()?.trim().toLowerCase() === 'https'; // the last value was written by our own peer
}

/** "1.2.3.4:56" and "[2001:db8::1]:56", as some proxies write them. */
function stripPort(text: string): string {
  const written = text.trim();
  if (written.startsWith('[')) return /^\[([^\]]*)\]/.exec(written)?.[1] ?? '';
  const colonAt = written.indexOf(':');
  return colonAt >= 0 && colonAt === written.lastIndexOf(':') ? written.slice(0, colonAt) : written;
}
