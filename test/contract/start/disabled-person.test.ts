// A person who is disabled is out on every node from the answer on, whatever their keys do at that moment.

import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readConfig } from '../../../src/config/config.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { cannotStartPostgres, sharedPostgres } from '../../support/start-postgres.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const STREAMS = 50;
const ECHO = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] };
const LONG = { model: 'sandbox-lorem', max_tokens: 4_000, stream: true, messages: [{ role: 'user', content: 'go' }] };

async function makePerson(node: Turnpike) {
  const { account } = await node.makeKey({ groups: ['sandbox'] });
  const person = await node.admin('POST', '/people', { role: 'member', email: 'max@example.com', account });
  const secrets: string[] = [];
  for (let count = 0; count < 5; count++) {
    const key = await node.admin('POST', '/keys', { account, person: person['id'] });
    secrets.push(String(key['key']));
  }
  return { id: person['id'], secrets };
}

/** Opens streams on both nodes, and resolves when each has begun. */
function openStreams(nodes: readonly Turnpike[], secrets: readonly string[]) {
  return Promise.all(
    Array.from({ length: STREAMS }, async (_, at) => {
      const node = nodes[at % nodes.length] as Turnpike;
      const response = await node.post(String(secrets[at % secrets.length]), LONG);
      expect(response.status).toBe(200);
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      return reader;
    }),
  );
}

async function readToTheEnd(reader: {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>;
}): Promise<string> {
  const decoder = new TextDecoder();
  for (let text = ''; ; ) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
}

test.skipIf(cannotStartPostgres)(
  'while 50 of their streams run on two nodes, nothing new is admitted on any from the answer on',
  async () => {
    await using database = await (await sharedPostgres()).newDatabase();
    const environment = { TURNPIKE_DATABASE_URL: database.url, TURNPIKE_SECRET: randomBytes(32).toString('base64') };
    await using one = await startTurnpike(undefined, environment);
    await using other = await startTurnpike(undefined, environment);
    const nodes = [one, other];
    const { id, secrets } = await makePerson(one);
    const streams = await openStreams(nodes, secrets);
    await one.admin('PATCH', `/people/${id}`, { status: 'disabled' });
    const statuses = await Promise.all(
      nodes.flatMap((node) =>
        secrets.flatMap((secret) => [ECHO, LONG].map(async (body) => (await node.post(secret, body)).status)),
      ),
    );
    expect(new Set(statuses)).toEqual(new Set([401]));
    await one.admin('PATCH', `/people/${id}`, { status: 'disabled', now: true });
    const ends = await Promise.all(streams.map(readToTheEnd));
    expect(ends.filter((text) => !/event: error|message_stop/.test(text))).toEqual([]);
    expect(ends.filter((text) => text.includes('event: error')).length).toBeGreaterThan(0);
    const report = await checkStore(readConfig({}, environment));
    expect([report.faults, report.ok]).toEqual([[], true]);
  },
);
