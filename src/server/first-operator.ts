// The first person of an installation: an invitation of the role operator, for whoever opens its link. Made last, and shown before
// it is stored, as the first key is; also where an earlier version has left an installation without people.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { invitationLink, makeFirstOperator } from '../admin-api/admin-api.ts';
import { type Trail, theService } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import type { Config } from '../config.ts';
import type { OpenStore } from './open-store.ts';
import { localUrl } from './operator-file.ts';
import type { StartOptions } from './server.ts';
import { showOnce } from './show-once.ts';

const FIRST_OPERATOR_FILE = 'first-operator.txt';

/** Call it while no other node starts. `url` is that of the console, which is where the admin API is. */
export async function inviteFirstOperator(
  config: Config,
  options: StartOptions,
  { vault, stores: { people } }: Pick<OpenStore, 'vault' | 'stores'>,
  clock: Clock,
  url: string,
): Promise<void> {
  // What is written there opens nothing any more once somebody operates the installation.
  if ((await people.countInRole('operator', 'enabled')) > 0)
    rmSync(join(config.dataDirectory, FIRST_OPERATOR_FILE), { force: true });
  if ((await people.listPeople({ accountId: null, after: null, limit: 1 })).length > 0) return;
  const { person, linkHash, secret } = makeFirstOperator(vault, clock.nowMs());
  showOnce(config, options, {
    text: invitationLink(config.publicUrl ?? localUrl(url), secret),
    words: 'Whoever opens this link within seven days becomes the operator of the console. It is shown this once:',
    file: FIRST_OPERATOR_FILE,
    fileWords: 'A link for the first operator of the console was made; it is in',
  });
  await people.createPerson(person, linkHash, inviteTrail(formatId('person', person.id), clock.nowMs()));
}

function inviteTrail(object: string, atMs: number): Trail {
  const after = { role: 'operator' };
  const record = { atMs, actor: theService, action: 'person.create', object, account: null, before: null, after };
  return { audit: [record], creation: null };
}
