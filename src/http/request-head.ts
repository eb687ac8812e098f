// Checks headers of a request that the runtime accepts and HTTP does not.

/**
 * A name or an address with an optional port, or nothing, as RFC 9112 section 3.2 and RFC 3986 section 3.2 define it. The runtime
 * joins repeated lines with a comma and a space, which no host has.
 */
const HOST = /^(?:\[[\dA-Fa-f:.]+(?:%[\w.~-]+)?\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** The fault of a head, which begins with the header's name; null without one. */
export function findHeadFault(headers: Headers): string | null {
  const host = headers.get('host');
  if (host !== null && !HOST.test(host)) return 'host: must be one host name, with an optional port';
  // The runtime would close the connection at the trailer, without an answer.
  if (headers.has('trailer') && headers.has('transfer-encoding')) return 'trailer: trailer fields are not supported';
  return null;
}
