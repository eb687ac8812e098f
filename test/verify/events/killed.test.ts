// The service is killed at random moments while keys are created and their events are sent: every event of a key that was
// acknowledged arrives, always with the same id.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeRandom } from '../../support/random.ts';
import { startReceiver } from '../../support/start-receiver.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

const KILLS = 6;
const KEYS_AT_ONCE = 20;

test('every event of an acknowledged change is delivered, whenever the service is killed', async () => {
  const seed = Number(process.env['EVENTS_SEED'] ?? Date.now() % 100_000);
  console.log(`EVENTS_SEED=${seed}`);
  const random = makeRandom(seed);
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  using receiver = startReceiver();
  const acknowledged: string[] = [];
  let account = '';
  for (let kill = 0; kill <= KILLS; kill++) {
    const turnpike = await spawnTurnpike(directory);
    if (kill === 0) {
      await turnpike.admin('POST', '/apply', { document: { settings: { webhook_private_network: 'everyone' } } });
      ({ account } = await turnpike.makeKey());
      await turnpike.admin('POST', '/destinations', {
        kind: 'webhook',
        address: receiver.url,
        types: ['key.created'],
        account,
      });
    }
    if (kill === KILLS) {
      await receiver.until((received) => {
        const keys = new Set(received.map(({ data }) => data['key']));
        return acknowledged.every((key) => keys.has(key));
      });
      await turnpike.stop();
      break;
    }
    const creating = Array.from({ length: KEYS_AT_ONCE }, async () => {
      const made = await turnpike.admin('POST', '/keys', { account }).catch(() => null);
      if (made !== null) acknowledged.push(String(made['id']));
    });
    await Bun.sleep(random() * 3_000);
    turnpike.process.kill('SIGKILL');
    await turnpike.process.exited;
    await Promise.all(creating);
  }
  const idOf = new Map<unknown, string>();
  for (const { id, data } of receiver.received) {
    expect(idOf.get(data['key']) ?? id).toBe(id);
    idOf.set(data['key'], id);
  }
  expect(acknowledged.length).toBeGreaterThan(0);
  rmSync(directory, { recursive: true, force: true });
});
