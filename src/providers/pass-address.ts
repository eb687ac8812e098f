// An address that a caller names, on its way to a provider that reads it. Nothing is fetched here; but the provider may
// be the operator's own machine, with files and services that no caller is to have read.

import type { JsonValue } from '../wire/wire.ts';
import { refuseField } from './refuse-field.ts';

const PASSED: readonly (string | undefined)[] = ['https:', 'http:', 'data:'];

/** The address as it came. Throws ProviderFault (rejected) for what is no address of the web, such as that of a file. */
export function passAddress(url: JsonValue | undefined, path: string): string {
  if (typeof url === 'string' && PASSED.includes(URL.parse(url)?.protocol)) return url;
  return refuseField(path, 'the provider of this model takes addresses that begin with https:// or http:// only');
}
