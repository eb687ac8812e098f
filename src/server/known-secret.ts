// Keeps a node that was left behind from refusing callers wrongly: where nodes were brought to another secret of the installation
// without this one being told of it, what it does not find may be stored under that one.

import type { AccountStore, TokenStore } from '../accounts/accounts.ts';
import { TurnpikeError } from '../errors.ts';
import { SECRET_PROOF } from '../secrets/secrets.ts';
import type { OpenStore } from './open-store.ts';

/** Look-ups by hash that reject with store_unavailable where nothing is found and the installation is under a secret that is not here. */
export function lookUpsOf({
  vault,
  stores,
  feed,
}: OpenStore): Pick<AccountStore, 'findKeyBySecretHash'> & Pick<TokenStore, 'findTokenBySecretHash'> {
  if (feed === null) return { ...stores.accounts, ...stores.tokens }; // nobody else can have changed it
  const known = [vault.proof, vault.previous?.proof];
  // Asked after the look: what was moved before it was so after the secret was changed.
  const unlessLeftBehind = async <Found>(found: Found | null): Promise<Found | null> => {
    if (found !== null || known.includes((await stores.installation.readInstallation(SECRET_PROOF)) ?? undefined))
      return found;
    throw new TurnpikeError('store_unavailable', 'The key cannot be checked at the moment. Try again shortly.', {
      cause: new Error(
        'the installation was brought under another secret, which is not here: restart this node with it as TURNPIKE_SECRET or TURNPIKE_PREVIOUS_SECRET',
      ),
    });
  };
  return {
    findKeyBySecretHash: async (...hashes) => unlessLeftBehind(await stores.accounts.findKeyBySecretHash(...hashes)),
    findTokenBySecretHash: async (...hashes) => unlessLeftBehind(await stores.tokens.findTokenBySecretHash(...hashes)),
  };
}
