// What stands before the thread of sign-in by itself: somebody who is disabled is out, also where their session could not be ended.

import { expect, test } from 'bun:test';
import { makeConsoleAuth, type SignInThread } from '../../src/sign-in/sign-in.ts';

const from = { address: '10.0.0.1', isOverTls: false };

/** The thread knows a session; what else it is asked is told. */
function authOf(isEnabled: boolean) {
  const asked: string[] = [];
  const ask = async (question: { kind: string }) => {
    asked.push(question.kind);
    if (question.kind === 'find-session') return { email: 'ann@example.com', cookies: [] };
    return { status: 200, headers: [], body: '[]' };
  };
  const auth = makeConsoleAuth({
    thread: { ask: ask as SignInThread['ask'] },
    publicOrigin: null,
    hasOidc: false,
    isEnabled: async () => isEnabled,
    nowMs: () => 0,
    answered: () => {},
  });
  const get = (path: string) =>
    auth.fetch(
      new Request(`http://localhost/console/auth${path}`, { headers: { cookie: 'turnpike.session_token=x' } }),
      from,
    );
  return { asked, get };
}

test('a session of somebody who is disabled shows nothing', async () => {
  const { asked, get } = authOf(false);
  expect((await get('/list-sessions')).status).toBe(401);
  expect(await (await get('/get-session')).text()).toBe('null');
  expect(asked).toEqual(['find-session', 'find-session']);
});

test('a session of somebody who is enabled is asked on', async () => {
  const { asked, get } = authOf(true);
  expect((await get('/list-sessions')).status).toBe(200);
  expect(asked).toEqual(['find-session', 'handle']);
});
