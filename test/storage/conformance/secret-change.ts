// The installation comes under another secret: what was sealed and the proof change together, hashes
// one by one.

import { expect, test } from 'bun:test';
import type { AccessToken } from '../../../src/accounts/accounts.ts';
import type { AuditRecord, RememberedCreation } from '../../../src/audit/audit.ts';
import type { CatalogDocument } from '../../../src/catalog/catalog.ts';
import { moveHash, writeSecretChange } from '../../../src/storage/secret-writes.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../ledger/workbench.ts';
import { noTrail } from '../../support/no-trail.ts';

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

export function secretChangeConformance(open: OpenStores): void {
  test('the secret of a key under another hash, with the end that it had, and twice is as once', async () => {
    await using bench = await openWorkbench(open, 0);
    const { accounts } = bench.stores;
    const [former, present] = [`hash of ${bench.key}`, 'present hash'];
    const key = (await accounts.findKeyBySecretHash(former))?.key;
    if (key === undefined) throw new Error('the key is not there');
    await accounts.rotateKey(key, 'another secret', 5_000, noTrail);
    for (let times = 0; times < 2; times++) await moveHash(bench.stores.gate, 'key_secrets', former, present);
    expect(await accounts.findKeyBySecretHash(former)).toBeNull();
    expect(await accounts.findKeyBySecretHash(present)).toMatchObject({
      key: { id: key.id },
      secretExpiresAtMs: 5_000,
    });
    expect(await accounts.findKeyBySecretHash('another secret')).toMatchObject({ key: { id: key.id } });
    for (const hashes of [[former, present] as const, [present, former] as const])
      expect(await accounts.findKeyBySecretHash(...hashes)).toMatchObject({ secretExpiresAtMs: 5_000 });
    expect(await accounts.findKeyBySecretHash(former, 'of nobody')).toBeNull();
  });

  test('a token under another hash, and no other token', async () => {
    await using bench = await openWorkbench(open, 0);
    const { tokens, gate } = bench.stores;
    const token = {
      id: 1,
      accountId: null,
      role: 'viewer',
      name: '',
      prefix: 'tk-tp-abcd',
      status: 'enabled',
    } as const;
    const whole: AccessToken = { ...token, expiresAtMs: null, madeBy: 'local', createdAtMs: START_MS };
    await tokens.createToken(whole, 'former', noTrail);
    await tokens.createToken({ ...whole, id: 2 }, 'other', noTrail);
    await moveHash(gate, 'tokens', 'former', 'present');
    expect(await tokens.findTokenBySecretHash('former')).toBeNull();
    expect(await tokens.findTokenBySecretHash('present')).toEqual(whole);
    expect(await tokens.findTokenBySecretHash('other')).toMatchObject({ id: 2 });
    for (const [one, other] of [
      ['former', 'present'],
      ['present', 'former'],
    ] as const)
      expect(await tokens.findTokenBySecretHash(one, other)).toEqual(whole);
    expect(await tokens.findTokenBySecretHash('former', 'of nobody')).toBeNull();
  });

  test('credentials, creations and the proof as they are after a change, with its record', async () => {
    await using bench = await openWorkbench(open, 0);
    const { installation, catalog, audit, gate } = bench.stores;
    await installation.writeInstallation('secret_proof', 'former');
    await installation.writeInstallation('sealed', 'old');
    await catalog.saveCatalog([provider('old')], [], { audit: [], creation: creation('old') });
    await catalog.saveCatalog([], [], { audit: [], creation: creation(null, 'without a secret') });
    expect(await audit.listSealedCreations()).toEqual([creation('old')]);
    const proof = { name: 'secret_proof', value: 'present', replaces: 'former' };
    const resealed = [{ name: 'sealed', value: 'new', replaces: 'old' }];
    const change = { documents: [provider('new')], creations: [creation('new')], resealed, proof };
    await writeSecretChange(gate, change, { audit: [record], creation: null });
    expect(await installation.readInstallation('secret_proof')).toBe('present');
    expect(await installation.readInstallation('sealed')).toBe('new');
    expect(await catalog.loadCatalog()).toEqual([provider('new')]);
    expect(await audit.listSealedCreations()).toEqual([creation('new')]);
    expect(await audit.listAudit(whole)).toMatchObject([{ ...record, seq: 1 }]);
  });
}
