// Claude Code in a terminal: its sign-in, and sessions after it. No tests of its own.

import { expect } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { approve, type Company } from './company.ts';
import type { Json } from './conversations/conversation.ts';
import type { Machine, Terminal } from './terminal.ts';

const UP = '\u001b[A';
/** The code that a device shows. */
export const CODE = /[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}/;

/** From the first screen to the code that it shows. The person trusts the gateway, which is not the default. */
export async function beginSignIn(terminal: Terminal): Promise<string> {
  await terminal.see('Choose the text style');
  await terminal.type('\r');
  await terminal.see('Enter to connect');
  await terminal.type('\r');
  if ((await terminal.find(/Trustgateway|[B-Z]{4}-[B-Z]{4}/)) === 'Trustgateway') {
    await terminal.see('Yes');
    await terminal.type(UP);
    await terminal.type('\r');
  }
  return terminal.find(CODE);
}

/** From the first screen to the end of the sign-in. */
export async function signInAtTerminal(
  claude: string,
  company: Company,
  machine: Machine,
  isAgain = false,
): Promise<void> {
  await using terminal = machine.open([claude]);
  await approve(company, await beginSignIn(terminal));
  await terminal.see('Signed in to');
  await terminal.see('go');
  await terminal.type(UP);
  await terminal.type('\r');
  await terminal.see('Connected to Cloud gateway');
  if (!isAgain) {
    const began = company.asked.find(({ path }) => path === '/oauth/device_authorization');
    expect(began?.body).toBe('surface=claude_code');
    expect(company.asked[0]?.path).toBe('/.well-known/oauth-authorization-server');
  }
}

/** A session in the working directory, which the person trusts, up to its prompt. */
export async function openSession(claude: string, machine: Machine, words: readonly string[] = []): Promise<Terminal> {
  const path = join(machine.home, '.claude.json');
  const settings = JSON.parse(readFileSync(path, 'utf8')) as Json;
  const trusted = { projects: { [machine.work]: { hasTrustDialogAccepted: true } } };
  writeFileSync(path, JSON.stringify({ ...settings, hasCompletedOnboarding: true, ...trusted }));
  const terminal = machine.open([claude, ...words]);
  // Some settings need the person's consent.
  if ((await terminal.find(/Managedsettingsrequireapproval|Cloudgateway/)) !== 'Cloudgateway')
    await terminal.typeUntil('\r', 'Cloud gateway');
  else await terminal.see('Cloud gateway');
  return terminal;
}

/** Types a prompt or command, once the session shows it. */
export async function say(terminal: Terminal, words: string): Promise<void> {
  await terminal.type(words);
  await terminal.see(words);
  await terminal.type('\r');
}
