// Tokens of clouds are sent to hosts of their cloud only: the token of an identity is worth more than one API key.

import { type AuthHolder, type TokenCloud, tokenHostFault } from '../catalog/catalog.ts';
import { CredentialFault } from './load-context.ts';

/** Throws CredentialFault. */
export function checkTokenHost(cloud: TokenCloud, { baseUrl }: AuthHolder): void {
  const fault = tokenHostFault(cloud, baseUrl);
  if (fault !== null) throw new CredentialFault(`base_url ${fault}`);
}
