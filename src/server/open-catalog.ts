// Opens the catalog with the credentials of its providers.

import type { AdminDependencies } from '../admin-api/admin-api.ts';
import { CatalogHolder } from '../catalog/catalog.ts';
import type { Config } from '../config/config.ts';
import { type CredentialState, findAuthFault, LiveCredentials } from '../credentials/credentials.ts';
import { prepareCatalog } from './first-start.ts';
import { type Observers, reportCredential } from './observe.ts';
import type { OpenStore } from './open-store.ts';
import type { Closing } from './server.ts';

interface OpenCatalog {
  holder: CatalogHolder;
  findAuthFault: AdminDependencies['findAuthFault'];
}

export async function openCatalog(
  config: Config,
  store: OpenStore,
  observers: Observers,
  closing: Closing,
): Promise<OpenCatalog> {
  const { vault, stores, clock } = store;
  await prepareCatalog(config, store, clock.nowMs());
  const nowMs = () => clock.nowMs();
  const onState = ({ provider, credential, ...state }: CredentialState) =>
    reportCredential(observers, { provider, credential }, state);
  const credentials = new LiveCredentials({ settings: config.credentials, nowMs, onState });
  closing.push(() => credentials.close());
  const report = ({ message }: Error) => observers.log.writeEvent('catalogue_unreadable', { cause: message });
  const holder = new CatalogHolder(await stores.catalog.loadCatalog(), vault.open, nowMs, credentials, report);
  return { holder, findAuthFault: (auth) => findAuthFault(auth, config.credentials) };
}
