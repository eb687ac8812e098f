// One service for all tests of this process that need no more than their own accounts, keys and catalog: starting one costs more than
// most tests. One test file after the other takes it. It ends with the process.

import { deepStrictEqual } from 'node:assert';
import { removeAtEnd } from './remove-at-end.ts';
import { startTurnpike, type Turnpike } from './start-turnpike.ts';
import { untilHoldsEnd } from './test-store.ts';

const USUAL_GROUPS = { default: { models: ['*'] } };

let shared: Promise<{ turnpike: Turnpike; first: CatalogObject[] }> | null = null;

/**
 * The shared service with these settings. Accounts, usage and traffic of earlier tests stay: a test that notices them starts
 * its own service (`startOwnTurnpike`). `stop` and disposal remove providers and models, and throw if the ledger is
 * inconsistent or still has holds.
 */
export async function sharedTurnpike(document: { groups?: object } = {}): Promise<Turnpike> {
  shared ??= startShared();
  const { turnpike, first } = await shared;
  const groups = { ...USUAL_GROUPS, ...document.groups };
  await turnpike.admin('POST', '/apply', { document: { settings: {}, ...document, groups } });
  const stop = async () => {
    await expectSound(turnpike);
    const remove = (await listCatalog(turnpike)).filter((one) => !first.some(({ name }) => name === one.name));
    await turnpike.admin('POST', '/apply', { document: {}, remove });
  };
  return { ...turnpike, key: '', isShared: true, stop, [Symbol.asyncDispose]: stop };
}

/** After a failure the next test starts another service, so that it fails for its own faults only. */
async function expectSound(turnpike: Turnpike): Promise<void> {
  try {
    const { ok, faults } = await untilHoldsEnd(turnpike);
    deepStrictEqual({ ok, faults }, { ok: true, faults: [] });
  } catch (failure) {
    shared = null;
    throw failure;
  }
}

async function startShared() {
  const turnpike = await startTurnpike(undefined);
  removeAtEnd(turnpike.dataDirectory);
  return { turnpike, first: await listCatalog(turnpike) };
}

interface CatalogObject {
  kind: 'provider' | 'model';
  name: string;
}

async function listCatalog({ admin }: Turnpike): Promise<CatalogObject[]> {
  const namesOf = async (kind: CatalogObject['kind']) => {
    const { data } = (await admin('GET', `/${kind}s?limit=1000`)) as {
      data: { name: string; entry?: string | null }[];
    };
    return data.filter(({ entry = null }) => entry === null).map(({ name }) => ({ kind, name }));
  };
  return [...(await namesOf('model')), ...(await namesOf('provider'))];
}
