// Guards against an installation that is only partly under another secret.

import { expect, test } from 'bun:test';
import { writeSecretChange } from '../../src/storage/account-writes.ts';
import { manualClock } from '../support/manual-clock.ts';
import { noAuditContext } from '../support/no-audit-context.ts';
import { openSqlite } from './open-sqlite.ts';

test('a rotation whose expected proof does not match changes nothing', async () => {
  const { stores, close } = openSqlite(manualClock(1_000));
  const group = { kind: 'group', name: 'g', origin: 'file', document: {} } as const;
  await stores.installation.writeInstallation('secret_proof', 'present');
  const proof = { name: 'secret_proof', value: 'later', replaces: 'former' };
  const changing = writeSecretChange(
    stores.gate,
    {
      documents: [group],
      creations: [],
      mails: [],
      destinations: [],
      exports: [],
      billSources: [],
      resealed: [],
      proof,
    },
    noAuditContext,
  );
  await expect(changing).rejects.toThrow();
  expect(await stores.installation.readInstallation('secret_proof')).toBe('present');
  expect(await stores.catalog.loadCatalog()).toEqual([]);
  close();
});
