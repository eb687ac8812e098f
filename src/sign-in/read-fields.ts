// Reads the fields of a sign-in endpoint from a JSON body: texts only.

import { bounds, issuerIds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { parseJsonObject, readBounded } from '../http/http.ts';

/** A path below /console/ that no browser interprets as another host. */
const CONSOLE_PATH = /^\/console\/(?!auth\/)[\w\-./]*(?:\?[\w\-.=&%]*)?$/;

const { passwordCharactersLeast, passwordCharactersMax } = bounds;

/**
 * `issuers`: those that the body may name as the provider, the first one by default. Throws invalid_request with every fault,
 * content_type_unsupported, invalid_json, body_too_large.
 */
export async function readFields(
  request: Request,
  { fields, fixed, asksIssuer }: Endpoint,
  issuers: readonly string[],
): Promise<Record<string, string>> {
  const body = await readObject(request);
  const read: Record<string, string> = {};
  const faults: { path: string[]; message: string }[] = [];
  for (const name of fields) {
    const value = body[name];
    if (typeof value !== 'string' || value === '') faults.push({ path: [name], message: 'must be a string' });
    else if (name === 'callbackURL' && !CONSOLE_PATH.test(value))
      faults.push({ path: [name], message: 'must be a path of the console, such as /console/' });
    else if (name === 'newPassword' && !isPassword(value))
      faults.push({
        path: [name],
        message: `must have ${passwordCharactersLeast} to ${passwordCharactersMax} characters`,
      });
    else read[name] = value;
  }
  if (asksIssuer) {
    const { provider = issuers[0] } = body;
    if (typeof provider === 'string' && issuers.includes(provider)) read['provider'] = provider;
    else faults.push({ path: ['provider'], message: `must be ${issuers.join(' or ')}` });
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
  const text = (await readBounded(request, bounds.signInBodyBytesMax)).toString('utf8');
  if (text === '') return {};
  // A cross-site form cannot send this content type without a preflight.
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers.get('content-type') ?? ''))
    throw new TurnpikeError('content_type_unsupported', 'content-type: must be application/json.');
  return parseJsonObject(text);
}

export interface Endpoint {
  method: 'GET' | 'POST';
  /** Required texts of the body. */
  fields: readonly string[];
  /** Values that are always sent, whatever the client sends. */
  fixed?: Readonly<Record<string, string>>;
  /** Requires a session. */
  needsSession?: boolean;
  /** May be used by a person who must set up a second factor first. */
  isForLimited?: boolean;
  /** Completes a sign-in, or acts on a session if there is one. */
  mayHaveSession?: boolean;
  /** Authenticates a person. */
  isProof?: boolean;
  /** The issuer whose answer it takes. */
  issuer?: string;
  /** Leads to an issuer: the body may name which, by default the first. */
  asksIssuer?: boolean;
}

export const CALLBACK = '/callback/';
export const CHANGE_PASSWORD = '/change-password';
export const GET_SESSION = '/get-session';
export const DISABLE_SECOND_FACTOR = '/two-factor/disable';

export const endpoints: Readonly<Record<string, Endpoint>> = {
  '/sign-in/email': { method: 'POST', fields: ['email', 'password'], isProof: true },
  '/sign-in/social': {
    method: 'POST',
    fields: ['callbackURL'],
    fixed: { errorCallbackURL: '/console/sign-in' },
    asksIssuer: true,
  },
  ...Object.fromEntries(
    issuerIds.map((issuer) => [CALLBACK + issuer, { method: 'GET' as const, fields: [], isProof: true, issuer }]),
  ),
  '/two-factor/verify-totp': {
    method: 'POST',
    fields: ['code'],
    isProof: true,
    mayHaveSession: true,
    isForLimited: true,
  },
  '/two-factor/verify-backup-code': { method: 'POST', fields: ['code'], isProof: true, mayHaveSession: true },
  '/sign-out': { method: 'POST', fields: [] },
  [GET_SESSION]: { method: 'GET', fields: [], needsSession: true, isForLimited: true },
  '/list-sessions': { method: 'GET', fields: [], needsSession: true },
  '/revoke-session': { method: 'POST', fields: ['id'], needsSession: true },
  '/revoke-other-sessions': { method: 'POST', fields: [], needsSession: true },
  [CHANGE_PASSWORD]: {
    method: 'POST',
    fields: ['currentPassword', 'newPassword'],
    fixed: { revokeOtherSessions: 'true' },
    needsSession: true,
  },
  '/two-factor/enable': { method: 'POST', fields: ['password'], needsSession: true, isForLimited: true },
  [DISABLE_SECOND_FACTOR]: { method: 'POST', fields: ['password'], needsSession: true },
  '/two-factor/replace': { method: 'POST', fields: ['password', 'code'], needsSession: true },
  '/two-factor/generate-backup-codes': { method: 'POST', fields: ['password'], needsSession: true },
};
