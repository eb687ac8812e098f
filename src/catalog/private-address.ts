// A provider may be inside the machine's own network only if its operator said so, so that nobody who may set an
// address can reach that network through this service.

import { bytesOfV4, findPrivateHost, isPrivateAddress } from '../base/private-address.ts';
import type { Fault } from './fault.ts';

/**
 * The private address that a base URL leads to, or null. `lookup` gives the addresses of a name; a
 * name that does not resolve now is let through: there is nothing to reach.
 */
export async function findPrivateAddress(
  baseUrl: string,
  lookup: (hostname: string) => Promise<readonly string[]>,
): Promise<string | null> {
  const host = findPrivateHost(baseUrl);
  if (host !== null) return host;
  const name = URL.parse(baseUrl)?.hostname;
  if (name === undefined || name === '' || name.startsWith('[') || bytesOfV4(name) !== null) return null;
  const addresses = await lookup(name).catch(() => []);
  return addresses.find(isPrivateAddress) ?? null;
}

/** Faults of providers whose names resolve into a private network. */
export async function findPrivateProviders(
  providers: readonly { name: string; base_url: string }[],
  lookup: (hostname: string) => Promise<readonly string[]>,
): Promise<Fault[]> {
  const found = await Promise.all(providers.map(({ base_url }) => findPrivateAddress(base_url, lookup)));
  return providers.flatMap(({ name }, at) => {
    const address = found[at] ?? null;
    return address === null ? [] : [privateNetworkFault(name, address)];
  });
}

export function privateNetworkFault(provider: string, address: string): Fault {
  return {
    path: ['providers', provider, 'base_url'],
    message: `leads to ${address}, a private network: say "private_network: true" if that is meant`,
  };
}
