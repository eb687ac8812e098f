// Addresses that a caller names, and a provider that stands inside of the operator's network: it would read them from
// there, where no caller is to reach. Such a provider is sent none.

import { findPrivateHost } from '../base/private-address.ts';
import { findBlock, isJsonObject, type JsonObject } from '../wire/wire.ts';
import { refuseField } from './refuse-field.ts';

/** Names that lead nowhere but inside: of one word, or below what is kept for networks of one's own. */
const INSIDE = /^[^.]+$|\.(?:internal|intranet|local|localdomain|lan|home|home\.arpa|corp|private|svc)\.?$/;

/** Throws ProviderFault (rejected) for the first image or document that is given by an address, if the provider stands inside. */
export function refuseAddresses(body: JsonObject, baseUrl: string): void {
  if (!standsInside(baseUrl)) return;
  const path = findBlock(body, isByAddress);
  if (path !== null)
    refuseField(
      `${path}.source.url`,
      'the provider of this model stands in a private network, where it is given no addresses to read; send the content itself, in base64',
    );
}

function standsInside(baseUrl: string): boolean {
  if (findPrivateHost(baseUrl) !== null) return true;
  const host = URL.parse(baseUrl)?.hostname ?? '';
  return !host.startsWith('[') && INSIDE.test(host);
}

function isByAddress({ source }: JsonObject): boolean {
  if (!isJsonObject(source) || source['type'] !== 'url') return false;
  const { url } = source;
  return typeof url !== 'string' || !url.startsWith('data:'); // what is in the address itself is not read from anywhere
}
