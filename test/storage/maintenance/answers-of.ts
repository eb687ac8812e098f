// Reads everything that the stores return about an installation into one list, so that two installations can be
// compared.

import { totalsGroupings } from '../../../src/reports/reports.ts';
import type { Stores } from '../../../src/storage/stores.ts';
import { allChanges, allTotals, allUsage } from '../../support/everything.ts';

export async function answersOf(stores: Stores): Promise<unknown[]> {
  const accounts = await stores.accounts.listAccounts({ after: null, limit: 1_000 });
  const keys = await stores.accounts.listKeys({ accountId: null, madeBy: null, after: null, limit: 1_000 });
  return [
    ...accounts,
    ...keys,
    ...(await ofInstallation(stores)),
    ...(await ofAccounts(
      stores,
      accounts.map(({ id }) => id),
    )),
    ...(await ofKeys(
      stores,
      keys.map(({ id }) => id),
    )),
    ...(await ofMessages(stores)),
  ];
}

async function ofInstallation(stores: Stores): Promise<unknown[]> {
  const { tokens, people, audit, catalog, installation, samples, ledger, retention, usage } = stores;
  const answers: unknown[] = [
    await tokens.listTokens({ accountId: null, after: null, limit: 100 } as never),
    await people.listPeople({ accountId: null, after: null, limit: 100 }),
    await people.countInRole('operator', 'invited'),
    await audit.listAudit({ ...allChanges, limit: 1_000 }),
    await audit.listSealedCreations(),
    await catalog.loadCatalog(),
    await samples.loadSamples(),
    await ledger.openHolds(),
  ];
  for (const name of ['secret_proof', 'usage_kept_since_ms', 'journal_kept_since_ms', 'nothing'])
    answers.push(await installation.readInstallation(name));
  for (const groupBy of totalsGroupings) answers.push(await usage.totalUsage({ ...allTotals, groupBy, limit: 1_000 }));
  for (const table of ['usage_records', 'creations', 'key_secrets', 'claims', 'answers'] as const)
    answers.push(await retention.countForgotten(table, Date.now()));
  return answers;
}

async function ofAccounts(stores: Stores, accounts: readonly number[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const account of accounts)
    answers.push(
      await stores.ledger.accountMeters(account, 0),
      ...(await stores.ledger.listEntries({ ...allUsage, account, limit: 1_000 })),
      await stores.accounts.countKeys(account),
      await stores.usage.totalUsage({ ...allTotals, account }),
      await stores.retention.countToCarry(account, Date.now()),
    );
  return answers;
}

async function ofKeys(stores: Stores, keys: readonly number[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const key of keys)
    answers.push(
      await stores.accounts.getKey(key),
      await stores.ledger.keyMeters(key, 0),
      await stores.usage.totalUsage({ ...allTotals, key }),
    );
  return answers;
}

async function ofMessages(stores: Stores): Promise<unknown[]> {
  const records = await stores.usage.listUsage({ ...allUsage, limit: 1_000 });
  const answers: unknown[] = [...records];
  for (const { requestId } of records)
    answers.push(
      await stores.usage.getUsage(requestId),
      await stores.answers.findAnswer(requestId),
      await stores.ledger.openMessage(requestId),
    );
  return answers;
}
