// The refusal of what a provider's protocol cannot say, before anything is sent: a 400 that begins with
// the path of the field, as the provider would send it.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { ProviderFault } from './provider.ts';

/** Throws ProviderFault (rejected). `path` is such as "messages.0.content.1.source". */
export function refuseField(path: string, sentence: string): never {
  throw new ProviderFault('rejected', `${path}: ${sentence}`, { status: 400, errorType: 'invalid_request_error' });
}

/** Throws ProviderFault (rejected) for the first of these fields that asks for anything, with why it cannot be had. */
export function refuseAsked(body: JsonObject, refused: Readonly<Record<string, string>>): void {
  for (const [name, sentence] of Object.entries(refused)) if (asks(body[name])) refuseField(name, sentence);
}

/** Clients write out members that they leave open: null and empty ones ask for nothing. */
function asks(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isJsonObject(value)) return Object.keys(value).length > 0;
  return (value ?? null) !== null && value !== '';
}
