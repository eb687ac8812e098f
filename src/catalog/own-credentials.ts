// Which credentials of a provider a caller's messages may go over. Who has credentials of its own there uses
// these alone: what the provider keeps for them (caches, files) is never another's.

import type { Credential, ProviderSettings } from './model.ts';

/** Whose messages they are. */
export interface Buyer {
  /** The account's number. */
  account: number;
  /** The group that sells the model. */
  group: string;
}

const NONE_NEEDED: readonly null[] = [null];

/** Those of the account; else those of the group; else those of everyone. Empty: the provider is not for this buyer. */
export function credentialsFor({ credentials }: ProviderSettings, buyer: Buyer): readonly (Credential | null)[] {
  if (credentials.length === 0) return NONE_NEEDED;
  if (credentials.every(isShared)) return credentials;
  const ofAccount = credentials.filter(({ account }) => account === buyer.account);
  if (ofAccount.length > 0) return ofAccount;
  const ofGroup = credentials.filter(({ account, group }) => account === null && group === buyer.group);
  return ofGroup.length > 0 ? ofGroup : credentials.filter(isShared);
}

/** Whether the account has credentials of its own there: then objects stored at the provider are its own as well. */
export function hasOwnCredential({ credentials }: ProviderSettings, accountId: number): boolean {
  return credentials.some(({ account }) => account === accountId);
}

function isShared({ account, group }: Credential): boolean {
  return account === null && group === null;
}
