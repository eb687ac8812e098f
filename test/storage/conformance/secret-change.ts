// Rotation of the installation's secret: sealed values and the proof change together, hashes one by one.

import { expect, test } from 'bun:test';
import type { AccessToken } from '../../../src/accounts/accounts.ts';
import { makeFirstOperator } from '../../../src/admin-api/admin-api.ts';
import type { AuditRecord, RememberedCreation } from '../../../src/audit/audit.ts';
import type { BillSource } from '../../../src/bills/bills.ts';
import type { CatalogDocument } from '../../../src/catalog/catalog.ts';
import type { Destination } from '../../../src/delivery/delivery.ts';
import { writeSecretChange } from '../../../src/storage/account-writes.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { exportOf } from './exports.ts';

const provider = (sealed: string): CatalogDocument => ({
  kind: 'provider',
  name: 'first',
  origin: 'file',
  document: { kind: 'anthropic', base_url: 'https://api.example.com', private_network: false, api_key_sealed: sealed },
});
const creation = (secretSealed: string | null, idempotencyKey = 'one'): RememberedCreation => ({
  principal: 'local',
  idempotencyKey,
  atMs: START_MS,
  requestHash: 'hash',
  object: 'key_1',
  secretSealed,
});
const record: AuditRecord = {
  atMs: START_MS,
  actor: { id: 'start', role: 'service', address: '', requestId: null },
  action: 'secret.rotate',
  object: 'installation',
  account: null,
  before: { id: 'a' },
  after: { id: 'b' },
};
const whole = { account: null, object: null, actor: null, sinceMs: null, untilMs: null, before: null, limit: 9 };

const destination = (sealed: string): Destination => ({
  ...{ id: 7, accountId: null, kind: 'webhook', name: '', address: 'https://example.com/', types: ['*'] },
  ...{ secrets: [{ sealed, endsAtMs: null }], unsubscribedAtMs: null, madeBy: 'local', createdAtMs: 1 },
  ...{ status: 'enabled', disabledReason: null, version: 1, failingSinceMs: null, deliveredAtMs: null },
});

export function secretChangeConformance(open: OpenStores): void {
  test('a key, a token and a person are found by any hash of their secret', async () => {
    await using bench = await openWorkbench(open, 0);
    const { accounts, tokens, people } = bench.stores;
    const stored = `hash of ${bench.key}`;
    for (const hashes of [[stored], ['other', stored], ['other', 'another', stored]])
      expect(await accounts.findKeyBySecretHash(hashes)).toMatchObject({ key: { id: bench.key } });
    expect(await accounts.findKeyBySecretHash(['other', 'another'])).toBeNull();
    const token: AccessToken = {
      id: 1,
      accountId: null,
      role: 'viewer',
      name: '',
      prefix: 'tk-tp-abcd',
      status: 'enabled',
      expiresAtMs: null,
      madeBy: 'local',
      createdAtMs: START_MS,
    };
    await tokens.createToken(token, 'hash of a token', noAuditContext);
    expect(await tokens.findTokenBySecretHash(['other', 'hash of a token'])).toEqual(token);
    expect(await tokens.findTokenBySecretHash(['other', 'another'])).toBeNull();
    const { person, linkHash } = makeFirstOperator(START_MS);
    await people.createPerson(person, linkHash, noAuditContext);
    expect(await people.findPersonByLinkHash(['other', linkHash])).toEqual(person);
    expect(await people.findPersonByLinkHash(['other', 'another'])).toBeNull();
  });

  test('credentials, creations and the proof change together, with an audit record', async () => {
    await using bench = await openWorkbench(open, 0);
    const { installation, catalog, audit, mails, destinations, exports, bills, gate } = bench.stores;
    await installation.writeInstallation('secret_proof', 'former');
    await installation.writeInstallation('sealed', 'old');
    await catalog.saveCatalog([provider('old')], [], { audit: [], creation: creation('old') });
    await catalog.saveCatalog([], [], { audit: [], creation: creation(null, 'without a secret') });
    expect(await audit.listSealedCreations()).toEqual([creation('old')]);
    const proof = { name: 'secret_proof', value: 'present', replaces: 'former' };
    const resealed = [{ name: 'sealed', value: 'new', replaces: 'old' }];
    await destinations.createDestination(destination('old'), noAuditContext);
    await mails.putMail(mail('old'));
    await exports.createExport(schedule('old'), noAuditContext);
    await bills.putBillSource(billSource('old'), noAuditContext);
    const resealedMails = [{ id: 9, secretSealed: 'new' }];
    const change = {
      documents: [provider('new')],
      creations: [creation('new')],
      mails: resealedMails,
      resealed,
      proof,
      destinations: [destination('new')],
      exports: [schedule('new')],
      billSources: [billSource('new')],
    };
    await writeSecretChange(gate, change, { audit: [record], creation: null });
    expect(await installation.readInstallation('secret_proof')).toBe('present');
    expect(await installation.readInstallation('sealed')).toBe('new');
    expect(await catalog.loadCatalog()).toEqual([provider('new')]);
    expect(await audit.listSealedCreations()).toEqual([creation('new')]);
    expect(await mails.listSealedMails()).toEqual([mail('new')]);
    expect(await destinations.listSealedDestinations()).toMatchObject([{ ...destination('new'), version: 2 }]);
    expect(await exports.listSealedExports()).toMatchObject([{ ...schedule('new'), version: 2 }]);
    expect(await bills.listBillSources()).toEqual([billSource('new')]);
    expect(await audit.listAudit(whole)).toMatchObject([{ ...record, seq: 1 }]);
  });
}

const schedule = (secretSealed: string) => exportOf(11, { secretSealed });

function billSource(sealed: string): BillSource {
  const place = { baseUrl: null, isPrivate: false };
  return { provider: 'p', kind: 'openai', ...place, sealed, schedule: 'daily', models: {}, createdAtMs: 1 };
}

function mail(secretSealed: string) {
  const request = { kind: 'recovery' as const, expiresAtMs: 0 };
  return { id: 9, createdAtMs: 1, nextAtMs: 1, tries: 0, to: 'ada@example.com', request, secretSealed };
}
