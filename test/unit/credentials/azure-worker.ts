// Loads credentials in a process of its own, which trusts the certificate of the test. It has no tests of its own.

import type { Auth } from '../../../src/catalog/catalog.ts';
import { makeLoad, setVariables } from './load.ts';

/** One credential to load. */
export interface AzureCase {
  auth: Auth;
  apiKey?: string;
  environment?: Record<string, string>;
}

if (import.meta.main) {
  const { baseUrl, keyVault, cases } = JSON.parse(process.argv[2] ?? '') as {
    baseUrl: string;
    keyVault: string;
    cases: Record<string, AzureCase>;
  };
  /** Sends what would go to Key Vault to the server of the test. */
  const redirected = ((input: string, init?: RequestInit) =>
    fetch(`${keyVault}${new URL(input).pathname}${new URL(input).search}`, init)) as typeof fetch;
  const results: Record<string, unknown> = {};
  for (const [name, { auth, apiKey = null, environment = {} }] of Object.entries(cases)) {
    using _ = setVariables(environment);
    const variables = process.env as Record<string, string>;
    const load = makeLoad(auth, variables, { kind: 'foundry', baseUrl, apiKey, fetch: redirected });
    results[name] = await load().catch((thrown: Error) => ({ fault: thrown.message }));
  }
  process.stdout.write(JSON.stringify(results));
}
