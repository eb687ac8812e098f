// Who is at the other end: the socket's peer, or, where that is a proxy the operator trusts, the
// address that it names. What an untrusted peer writes into the header is not read.

import { type AddressRange, isInRanges, parseAddress } from '../base/address-range.ts';
import { bounds } from '../config.ts';

/** The caller's address without port; `x-forwarded-for` is read from the right, through trusted proxies only. */
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
    // A proxy that names nothing readable is as far as can be seen.
    if (parseAddress(before) === null) return address;
    address = before;
  }
  return address;
}

/** "1.2.3.4:56" and "[2001:db8::1]:56" as some proxies write them. */
function stripPort(text: string): string {
  const written = text.trim();
  if (written.startsWith('[')) return written.slice(1, written.indexOf(']'));
  const colonAt = written.indexOf(':');
  return colonAt >= 0 && colonAt === written.lastIndexOf(':') ? written.slice(0, colonAt) : written;
}
