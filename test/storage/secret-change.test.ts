// What keeps an installation from coming half under another secret.

import { expect, test } from 'bun:test';
import { manualClock } from '../../src/base/clock.ts';
import { writeSecretChange } from '../../src/storage/secret-writes.ts';
import { noTrail } from '../support/no-trail.ts';
import { openSqlite } from './open-sqlite.ts';

test('a change that meets another proof than it replaces changes nothing', async () => {
  const { stores, close } = openSqlite(manualClock(1_000));
  const group = { kind: 'group', name: 'g', origin: 'file', document: {} } as const;
  await stores.installation.writeInstallation('secret_proof', 'present');
  const proof = { name: 'secret_proof', value: 'later', replaces: 'former' };
  const changing = writeSecretChange(stores.gate, { documents: [group], creations: [], resealed: [], proof }, noTrail);
  await expect(changing).rejects.toThrow();
  expect(await stores.installation.readInstallation('secret_proof')).toBe('present');
  expect(await stores.catalog.loadCatalog()).toEqual([]);
  close();
});
