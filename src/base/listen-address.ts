// Where to listen, as people write it: "127.0.0.1:8080", "[::1]:8080", ":8080" for all of IPv4.

export interface ListenAddress {
  hostname: string;
  /** 0: any free one. */
  port: number;
}

/** Null when it is none. Whether this machine has the address is found out by listening. */
export function parseListenAddress(text: string): ListenAddress | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s/]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3] ?? Number.NaN);
  if (match === null || port > 65_535) return null;
  return { hostname: match[1] ?? (match[2] || '0.0.0.0'), port };
}
