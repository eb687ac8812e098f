// The file of `serve --apply`, applied before the service listens.

import type { AdminApi } from '../admin-api/admin-api.ts';
import type { Fault } from '../catalog/catalog.ts';
import type { StartOptions } from './server.ts';

/** Applies the file of `serve --apply` as a client of the admin API would. Throws with every fault. */
export async function applyAtStart(
  admin: AdminApi,
  token: string,
  file: NonNullable<StartOptions['applyFile']>,
): Promise<void> {
  const response = await admin.fetch(
    new Request('http://localhost/api/v1/apply', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ document: file.document }),
    }),
    '',
  );
  if (response.ok) return;
  const { error } = (await response.json()) as { error: { message: string; faults?: Fault[] } };
  throw new Error(error.faults?.map((fault) => file.describeFault(fault)).join('\n') ?? error.message);
}
