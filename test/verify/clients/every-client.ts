// Tests of `npm run test:clients`: each unmodified client holds the conversations that it supports, and client,
// provider and books must agree. Not part of `npm test`, since the command installs the clients first.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Client, clients, type Need } from './clients.ts';
import type { Conversation } from './conversations/conversation.ts';
import { conversations } from './conversations/conversations.ts';
import { PROGRAM_MS_MAX, type Ran, runClient } from './run-client.ts';

/** Set by the command: the clients to run, and those that are unavailable. */
const selected = process.env['CLIENTS_SELECTED']?.split(',') ?? clients.map(({ name }) => name);
const missing = (process.env['CLIENTS_MISSING']?.split(',') ?? []) as Need[];

for (const client of clients.filter(({ name }) => selected.includes(name))) {
  const chosen = conversations.filter(
    ({ name, only }) => only?.includes(client.name) ?? (client.without !== 'all' && !client.without.includes(name)),
  );
  if (missing.includes(client.needs)) test.skip(`${client.name}: needs ${client.needs}`, () => {});
  else describe(client.name, () => holdAll(client, chosen));
}

function holdAll(client: Client, chosen: readonly Conversation[]): void {
  let ran: Ran | undefined;
  beforeAll(async () => {
    ran = await runClient(client, chosen);
  }, PROGRAM_MS_MAX + 30_000);
  afterAll(() => ran?.[Symbol.asyncDispose]());

  for (const conversation of chosen)
    test(conversation.name, async () => {
      const held = ran?.held(conversation);
      if (!held) throw new Error(`the program ended with ${ran?.exitCode} before it: ${ran?.errors}`);
      expect(held.got).not.toHaveProperty('broken');
      await conversation.check(held);
      if (conversation.name === 'refusals')
        expect(held.got.refusals?.map(({ fault }) => fault)).toEqual([...client.faults]);
    });

  test('leaves the books balanced', async () => {
    expect(await ran?.turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
    expect([ran?.exitCode, ran?.errors]).toEqual([0, '']);
  });
}
