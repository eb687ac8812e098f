// The fields that an endpoint of sign-in takes, out of a body of JSON: texts, and no others.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Endpoint } from './endpoints.ts';

/** Below /console/, and nothing in it that a browser could take for another host. */
const CONSOLE_PATH = /^\/console\/(?!auth\/)[\w\-./]*(?:\?[\w\-.=&%]*)?$/;

const { passwordCharactersLeast, passwordCharactersMax } = bounds;

/** Throws invalid_request with every fault, content_type_unsupported, invalid_json, body_too_large. */
export async function readFields(request: Request, { fields, fixed }: Endpoint): Promise<Record<string, string>> {
  const body = await readObject(request);
  const read: Record<string, string> = {};
  const faults: { path: string[]; message: string }[] = [];
  for (const name of fields) {
    const value = body[name];
    if (typeof value !== 'string' || value === '') faults.push({ path: [name], message: 'must be a text' });
    else if (name === 'callbackURL' && !CONSOLE_PATH.test(value))
      faults.push({ path: [name], message: 'must be a path of the console, such as /console/' });
    else if (name === 'newPassword' && !isPassword(value))
      faults.push({
        path: [name],
        message: `must have ${passwordCharactersLeast} to ${passwordCharactersMax} characters`,
      });
    else read[name] = value;
  }
  const [first] = faults;
  if (first !== undefined)
    throw new TurnpikeError('invalid_request', `${first.path[0]}: ${first.message}`, { members: { faults } });
  return { ...read, ...fixed };
}

function isPassword(text: string): boolean {
  const { length } = [...text];
  return length >= passwordCharactersLeast && length <= passwordCharactersMax;
}

async function readObject(request: Request): Promise<Record<string, unknown>> {
  const text = await readBounded(request);
  if (text === '') return {};
  // A form of another site's page cannot say this without asking first.
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers.get('content-type') ?? ''))
    throw new TurnpikeError('content_type_unsupported', 'The header "content-type: application/json" is needed.');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TurnpikeError('invalid_json', 'The body is not valid JSON.', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TurnpikeError('invalid_request', 'The body must be a JSON object.');
  return value as Record<string, unknown>;
}

async function readBounded(request: Request): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of request.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > bounds.signInBodyBytesMax)
      throw new TurnpikeError('body_too_large', `The body may have at most ${bounds.signInBodyBytesMax} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
