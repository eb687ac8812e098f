// Whether a host lets itself be connected to at all. The runtime's fetch does not tell when it has a
// connection, so where an answer is long in coming this tries one of its own and ends it at once.

import { connect } from 'node:net';

/** By host and port: the tries under way. Many messages wait for one host at a time. */
const tries = new Map<string, Promise<boolean>>();

/**
 * False where nothing has come of it in `msMax`. A connection that is refused or a name that is not known is
 * true: of these the call itself hears. True as well for a provider inside the service.
 */
export function canConnect(baseUrl: string, msMax: number): Promise<boolean> {
  const url = URL.parse(baseUrl);
  if (url === null) return Promise.resolve(true);
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const name = `${host} ${port} ${msMax}`;
  const underWay = tries.get(name);
  if (underWay !== undefined) return underWay;
  const begun = tryConnecting(host, port, msMax).finally(() => tries.delete(name));
  tries.set(name, begun);
  return begun;
}

function tryConnecting(host: string, port: number, msMax: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (isThere: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(isThere);
    };
    const timer = setTimeout(() => end(false), msMax);
    socket.once('connect', () => end(true));
    socket.once('error', () => end(true));
  });
}
