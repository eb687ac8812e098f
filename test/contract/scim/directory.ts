// A directory that provisions by SCIM: its token, its requests, and groups that are mapped to an account of its own. No tests of its own.

import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

export type Json = Record<string, unknown>;

export interface Answer {
  status: number;
  headers: Headers;
  body: Json;
}

export interface Directory extends AsyncDisposable {
  turnpike: Turnpike;
  token: string;
  tokenId: string;
  account: string;
  /** Part of every name, so that tests do not meet. */
  mark: string;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Creates a user with this name at the directory's domain; resolves to its id. */
  addUser(name: string, members?: Json): Promise<string>;
  /** Creates a group; resolves to its id. */
  addGroup(name: string, members?: readonly string[]): Promise<string>;
  /** Maps a group to the account. */
  map(name: string, role?: string): Promise<Json>;
  addressOf(name: string): string;
  /** The person with this address, as an operator sees them; null: nobody. */
  person(name: string): Promise<Json | null>;
}

export const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';

let opened = 0;

export async function openDirectory(given?: Turnpike): Promise<Directory> {
  const turnpike = given ?? (await sharedTurnpike());
  const mark = `d${process.pid}x${++opened}`;
  const { id, token } = await turnpike.admin('POST', '/tokens', { role: 'scim', name: mark });
  const account = String((await turnpike.admin('POST', '/accounts', { name: mark }))['id']);
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    askScim(turnpike, String(token), method, path, body, headers);
  const made = async (path: string, body: Json) => {
    const answer = await ask('POST', path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return String(answer.body['id']);
  };
  const addressOf = (name: string) => `${name}@${mark}.example.com`;
  return {
    turnpike,
    token: String(token),
    tokenId: String(id),
    account,
    mark,
    ask,
    addressOf,
    addUser: (name, members = {}) => made('/Users', { schemas: [USER], ...userOf(addressOf(name)), ...members }),
    addGroup: (name, members = []) =>
      made('/Groups', {
        schemas: [GROUP],
        displayName: `${mark} ${name}`,
        members: members.map((value) => ({ value })),
      }),
    map: (name, role = 'member') =>
      turnpike.admin('POST', '/directory-groups', { name: `${mark} ${name}`, source: 'scim', role, account }),
    async person(name) {
      const { data } = await turnpike.admin('GET', `/people?account=${account}&limit=1000`);
      return (data as Json[]).find(({ email }) => email === addressOf(name)) ?? null;
    },
    [Symbol.asyncDispose]: () => (given === undefined ? turnpike.stop() : Promise.resolve()),
  };
}

export function userOf(address: string): Json {
  return { userName: address, active: true, emails: [{ value: address, type: 'work', primary: true }] };
}

export function patchOf(...Operations: Json[]): Json {
  return { schemas: [PATCH_OP], Operations };
}

export async function askScim(
  { url }: Turnpike,
  token: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${url}/scim/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : (JSON.parse(text) as Json) };
}
