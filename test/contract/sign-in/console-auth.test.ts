// Checks before the sign-in thread: a disabled person has no access, even if their session could not be ended.

import { expect, test } from 'bun:test';
import { type FoundSession, makeConsoleAuth, type SignInThread } from '../../../src/sign-in/sign-in.ts';

const session: FoundSession = {
  email: 'ann@example.com',
  createdAtMs: 0,
  proof: 'password',
  hasSecondFactor: false,
  cookies: [],
};
const from = { address: '10.0.0.1', isOverTls: false };

/** The stand-in for the thread knows one session; `requests` has the kinds of its requests. */
function authOf(isEnabled: boolean) {
  const requests: string[] = [];
  const ask = async (question: { kind: string }) => {
    requests.push(question.kind);
    if (question.kind === 'find-session') return session;
    return { status: 200, headers: [], body: '[]' };
  };
  const auth = makeConsoleAuth({
    thread: { ask: ask as SignInThread['ask'] },
    publicOrigin: null,
    issuers: [],
    findPerson: async () =>
      isEnabled ? { person: 'ann', rules: { lifetimeMs: 1_000, needsSecondFactor: false } } : null,
    installation: () => 'Turnpike',
    nowMs: () => 0,
    onPasswordChanged: () => {},
    answered: () => {},
  });
  const get = (path: string) =>
    auth.fetch(
      new Request(`http://localhost/console/auth${path}`, { headers: { cookie: 'turnpike.session_token=x' } }),
      from,
    );
  return { requests, get };
}

test('the session of a disabled person gives no access', async () => {
  const { requests, get } = authOf(false);
  expect((await get('/list-sessions')).status).toBe(401);
  expect(await (await get('/get-session')).text()).toBe('null');
  expect(requests).toEqual(['find-session', 'find-session']);
});

test('a request with the session of an enabled person is passed on', async () => {
  const { requests, get } = authOf(true);
  expect((await get('/list-sessions')).status).toBe(200);
  expect(requests).toEqual(['find-session', 'handle']);
});
