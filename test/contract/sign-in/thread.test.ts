// The sign-in thread dies, hangs, is overloaded, or cannot start: clients get an error, and the next requests are
// served.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounds } from '../../../src/config/config.ts';
import { SignInThread } from '../../../src/sign-in/sign-in.ts';

const WAIT_MS = 60_000; // starting takes long on a busy machine
const HANG_MS = 200;
const script = new URL('./dying-worker.ts', import.meta.url);
const ann = { email: 'ann@example.com', installation: 'Turnpike', name: 'Ann', password: 'long enough 1' };

let directory: string;
let thread: SignInThread;
let logged: string[];
let waitMsMax: number;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-sign-in-'));
  logged = [];
  waitMsMax = WAIT_MS;
  thread = start(join(directory, 'sign-in.db'));
});
afterEach(() => {
  thread.close();
  rmSync(directory, { recursive: true, force: true });
});

function start(path: string): SignInThread {
  const secret = Buffer.alloc(32, 'secret').toString('base64url');
  const settings = {
    store: { path },
    secret,
    publicUrl: null,
    issuers: [],
    authorities: null,
    passwordCost: { memoryKib: 8, rounds: 1 },
  };
  const log = (event: string, cause: string) => void logged.push(`${event}: ${cause}`);
  return new SignInThread({ script, settings, admit: async () => null, report: log }, () => waitMsMax);
}

const setPassword = () => thread.ask({ kind: 'set-password', person: ann });
const endSessions = (email: string) => thread.ask({ kind: 'end-sessions', email });
const unavailable = { code: 'store_unavailable' };

describe('a thread', () => {
  test('that dies fails the running requests, and is restarted by the next request', async () => {
    await setPassword();
    const requests = [endSessions('die@example.com'), endSessions('ann@example.com')];
    expect(await Promise.allSettled(requests)).toMatchObject([{ reason: unavailable }, { reason: unavailable }]);
    expect(await setPassword()).toBeNull();
    expect(logged.filter((words) => words.startsWith('sign_in_thread_failed'))).toHaveLength(1);
  });

  test('that hangs is ended at the time limit, and is restarted by the next request', async () => {
    await setPassword();
    waitMsMax = HANG_MS;
    const requests = [endSessions('hang@example.com'), endSessions('ann@example.com')];
    waitMsMax = WAIT_MS;
    expect(await Promise.allSettled(requests)).toMatchObject([{ reason: unavailable }, { reason: unavailable }]);
    expect(await setPassword()).toBeNull();
    expect(logged).toEqual(['sign_in_thread_failed: the sign-in thread does not respond']);
  });

  test('that cannot start reports the reason, and is not restarted by every request', async () => {
    const path = join(directory, 'a-directory');
    mkdirSync(path);
    thread.close();
    thread = start(path);
    for (let tries = 0; tries < 5; tries++) await expect(setPassword()).rejects.toMatchObject(unavailable);
    expect(logged).toHaveLength(1);
    rmSync(path, { recursive: true });
    await Bun.sleep(bounds.signInRestartMs);
    expect(await setPassword()).toBeNull();
  });

  test('accepts a bounded number of requests', async () => {
    await setPassword();
    const requests = Array.from({ length: bounds.signInQuestionsMax + 5 }, () => endSessions('ann@example.com'));
    const answers = await Promise.allSettled(requests);
    const refused = answers.filter((answer) => answer.status === 'rejected');
    expect(refused).toHaveLength(5);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'overloaded' });
  });

  test('is not started before its first request or after the shutdown', async () => {
    const { existsSync } = await import('node:fs');
    expect(existsSync(join(directory, 'sign-in.db'))).toBe(false);
    thread.close();
    await expect(setPassword()).rejects.toMatchObject(unavailable);
    expect(existsSync(join(directory, 'sign-in.db'))).toBe(false);
  });
});
