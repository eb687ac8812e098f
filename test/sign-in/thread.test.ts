// The thread of sign-in dies, hangs, is asked too much, or cannot begin: whoever asks is told, and the next are served again.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounds } from '../../src/config.ts';
import { SignInThread } from '../../src/sign-in/sign-in.ts';

const WAIT_MS = 3_000;
const script = new URL('./dying-worker.ts', import.meta.url);
const ann = { email: 'ann@example.com', name: 'Ann', password: 'long enough 1' };

let directory: string;
let thread: SignInThread;
let told: string[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-sign-in-'));
  told = [];
  thread = start(join(directory, 'sign-in.db'));
});
afterEach(() => {
  thread.close();
  rmSync(directory, { recursive: true, force: true });
});

function start(path: string, waitMsMax = WAIT_MS): SignInThread {
  const secret = Buffer.alloc(32, 'secret').toString('base64url');
  const settings = { store: { path }, secret, publicUrl: null, oidc: null };
  const tell = (event: string, cause: string) => void told.push(`${event}: ${cause}`);
  return new SignInThread({ script, settings, admit: async () => null, tell }, waitMsMax);
}

const setPassword = () => thread.ask({ kind: 'set-password', person: ann });
const endSessions = (email: string) => thread.ask({ kind: 'end-sessions', email });
const gone = { code: 'store_unavailable' };

describe('a thread', () => {
  test('that dies fails what is under way, and the next question begins it again', async () => {
    await setPassword();
    const asked = [endSessions('die@example.com'), endSessions('ann@example.com')];
    expect(await Promise.allSettled(asked)).toMatchObject([{ reason: gone }, { reason: gone }]);
    expect(await setPassword()).toBeNull();
    expect(told.filter((words) => words.startsWith('sign_in_thread_failed'))).toHaveLength(1);
  });

  test('that hangs is ended when its time is over, and the next question begins it again', async () => {
    await setPassword();
    const asked = [endSessions('hang@example.com'), endSessions('ann@example.com')];
    expect(await Promise.allSettled(asked)).toMatchObject([{ reason: gone }, { reason: gone }]);
    expect(await setPassword()).toBeNull();
    expect(told).toEqual(['sign_in_thread_failed: the thread of sign-in does not answer']);
  });

  test('that cannot begin says why, and is not begun anew by everybody who asks', async () => {
    const path = join(directory, 'a-directory');
    mkdirSync(path);
    thread.close();
    thread = start(path);
    for (let tries = 0; tries < 5; tries++) await expect(setPassword()).rejects.toMatchObject(gone);
    expect(told).toHaveLength(1);
    rmSync(path, { recursive: true });
    await Bun.sleep(bounds.signInRestartMs);
    expect(await setPassword()).toBeNull();
  });

  test('takes so many questions and no more', async () => {
    await setPassword();
    const asked = Array.from({ length: bounds.signInQuestionsMax + 5 }, () => endSessions('ann@example.com'));
    const answers = await Promise.allSettled(asked);
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused).toHaveLength(5);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'overloaded' });
  });

  test('is not begun before it is asked, and not after the end', async () => {
    const { existsSync } = await import('node:fs');
    expect(existsSync(join(directory, 'sign-in.db'))).toBe(false);
    thread.close();
    await expect(setPassword()).rejects.toMatchObject(gone);
    expect(existsSync(join(directory, 'sign-in.db'))).toBe(false);
  });
});
